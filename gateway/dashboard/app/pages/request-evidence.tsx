import { saveFile } from "../save-file.ts";
import { ActionButton } from "../ui/controls.tsx";
import { Copyable } from "../ui/copy.tsx";
import { Badge, Card, Time } from "../ui/show.tsx";
import { checksOf } from "./evidence-checks.ts";

type Evidence = NonNullable<Parameters<typeof checksOf>[0]> & {
  readonly expectedSigner: string | null;
  readonly checkedAt: string;
};
type Attestation = NonNullable<Parameters<typeof checksOf>[1]> & { readonly checkedAt: string };

/** What was checked of a request's answer, and what each result means. */
export function EvidenceCard({
  evidence,
  attestation,
}: {
  evidence: Evidence | null;
  attestation: Attestation | null | undefined;
}) {
  return (
    <Card title="Evidence">
      {!evidence && (
        <p>
          The signature was not verified. Send verify_tee: true to have the signatures of answers verified.
        </p>
      )}
      <ul className="checks">
        {checksOf(evidence, attestation).map(({ title, result, meaning }) => (
          <li key={title}>
            <Badge state={result} /> <strong>{title}</strong>
            <span className="quiet">{meaning}</span>
          </li>
        ))}
      </ul>
      <dl className="pairs">
        {evidence && (
          <>
            <dt>Signed by</dt>
            <dd>{evidence.signer ? <code className="selectable">{evidence.signer}</code> : "none"}</dd>
            <dt>Acknowledged signer</dt>
            <dd>
              {evidence.expectedSigner ? (
                <code className="selectable">{evidence.expectedSigner}</code>
              ) : (
                "none"
              )}
            </dd>
            <dt>Verified</dt>
            <dd>
              <Time at={evidence.checkedAt} />
            </dd>
          </>
        )}
        {attestation && (
          <>
            <dt>Enclave appraised</dt>
            <dd>
              <Time at={attestation.checkedAt} />
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

/** Downloads the receipt of a request with its proof, and says how to verify it without this router. */
export function ReceiptCard({ id }: { id: string }) {
  const file = `receipt-${id}.json`;
  return (
    <Card title="Receipt">
      <p>
        The signed receipt states the charge, the usage and the hashes of the request and its answer, and
        proves that it is in the log. Verify it on your own machine, in a checkout of zerograph, without a
        network:
      </p>
      <Copyable
        label="Command"
        text={`npm run -s verify -- ${file} --request request.json --answer answer.json`}
      />
      <p className="quiet">
        request.json and answer.json are the bodies exactly as you sent and received them; both may be left
        out.
      </p>
      <ActionButton act={() => download(id, file)}>Download the receipt</ActionButton>
    </Card>
  );
}

async function download(id: string, file: string): Promise<void> {
  const response = await fetch(`/v1/receipts/${encodeURIComponent(id)}`, { credentials: "same-origin" });
  if (response.status === 404) throw new Error("This request has no receipt.");
  if (!response.ok) throw new Error(await refusalOf(response));
  saveFile(file, await response.blob());
}

async function refusalOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as
    | { readonly error?: { readonly message?: string } }
    | undefined;
  return body?.error?.message ?? `The receipt could not be read (status ${response.status}).`;
}
