import { saveFile } from "../../data/save-file.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { CodeSnippet } from "../../parts/code/code-snippet.tsx";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { Pair, Pairs, Section } from "../../parts/page/page.tsx";
import { Note } from "../../parts/page/states.tsx";
import { FullTime } from "../../parts/value/clock-time.tsx";
import { Pill, StateBadge } from "../../parts/value/state-badge.tsx";
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
  const isDevnet = useNetwork().networkId === "devnet";
  return (
    <Section title="Evidence">
      {!evidence && (
        <p>
          The signature was not checked. Send verify_tee: true to have the signatures of answers verified.
        </p>
      )}
      <ul className="checks">
        {checksOf(evidence, attestation).map(({ title, result, meaning, isExpected }) => (
          <li key={title}>
            {isExpected && isDevnet ? <Pill tone="calm">not attested</Pill> : <StateBadge state={result} />}{" "}
            <strong>{title}</strong>
            <span className="quiet">{meaning}</span>
          </li>
        ))}
      </ul>
      <Pairs>
        {evidence && (
          <>
            <Pair name="Signed by">
              {evidence.signer ? <code className="selectable">{evidence.signer}</code> : "none"}
            </Pair>
            <Pair name="Acknowledged signer">
              {evidence.expectedSigner ? (
                <code className="selectable">{evidence.expectedSigner}</code>
              ) : (
                "none"
              )}
            </Pair>
            <Pair name="Signature checked">
              <FullTime at={evidence.checkedAt} />
            </Pair>
          </>
        )}
        {attestation && (
          <Pair name="Attestation checked">
            <FullTime at={attestation.checkedAt} />
          </Pair>
        )}
      </Pairs>
    </Section>
  );
}

/** Downloads the receipt of a request with its proof, and says how to verify it without this gateway. */
export function ReceiptCard({ id }: { id: string }) {
  const file = `receipt-${id}.json`;
  return (
    <Section title="Receipt">
      <p>
        The signed receipt states the charge, the usage and the hashes of the request and its answer, and
        proves that it is in the log. Verify it offline, from a clone of the zerograph repository:
      </p>
      <CodeSnippet
        label="Command"
        snippets={[
          {
            name: "Command",
            code: `npm run -s verify -- ${file} --request request.json --answer answer.json`,
          },
        ]}
      />
      <Note>
        request.json and answer.json are the bodies exactly as you sent and received them; both are optional.
      </Note>
      <div>
        <ActionButton act={() => download(id, file)}>Download the receipt</ActionButton>
      </div>
    </Section>
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
