import { useMemo } from "react";
import { useQuery } from "urql";
import * as z from "zod";
import { graphql } from "../../../data/query/graph.ts";
import { useSession } from "../../../data/session/session.tsx";
import { useDevelopmentWallet } from "../../../data/wallet/use-wallet.ts";
import type { DevelopmentWallet } from "../../../data/wallet/wallet.ts";
import { LongTextField, TextField } from "../../../parts/form/fields.tsx";
import { GraphForm } from "../../../parts/form/form.tsx";
import { Loading, Outcome } from "../../../parts/page/states.tsx";
import { Copyable } from "../../../parts/value/copyable.tsx";
import { isSame, shortId, type Token } from "../token-queries.ts";
import { addressField } from "./address-field.ts";
import { CLONE, prepare, TRANSFER } from "./prepare.ts";
import { CancelButton, TransactionDialog } from "./transaction-dialog.tsx";
import { MAX_PROOFS_LENGTH, readProofs, toProofs } from "./transfer-proofs.ts";

const TEXTS = graphql(`
  query AccessProofTexts($contract: Address!, $tokenId: BigInt!) {
    accessProofTexts(contract: $contract, tokenId: $tokenId) { index dataHash targetPubkey nonce text }
  }
`);

type Props = {
  readonly token: Token;
  readonly kind: "transfer" | "clone";
  onMined(): void;
  onClose(): void;
};

/** Transfers a token with its keys, or clones it for a receiver. */
export function MoveDialog({ token, kind, onMined, onClose }: Props) {
  const sender = useSession().address ?? "";
  const oracle = useDevelopmentWallet();
  const { tokenId } = token;
  return (
    <TransactionDialog
      title={kind === "transfer" ? `Transfer token #${shortId(tokenId)}` : `Clone token #${shortId(tokenId)}`}
      summary={
        kind === "transfer"
          ? "The token and the keys of its data go to the receiver."
          : "The receiver gets a new token with the same data, and its keys. You keep yours."
      }
      sender={sender}
      onMined={onMined}
      onClose={onClose}
    >
      {(onPrepared) =>
        oracle === undefined ? (
          <Loading />
        ) : (
          <MoveForm
            {...{ token, kind, onClose, sender, oracle }}
            onProven={async (to, proofs) => {
              const { contract, owner } = token;
              const move = { contract, tokenId, owner: owner?.address ?? sender, from: sender, to, proofs };
              onPrepared(await prepare(kind === "transfer" ? TRANSFER : CLONE, move), { Receiver: to });
            }}
          />
        )
      }
    </TransactionDialog>
  );
}

function MoveForm({
  token,
  kind,
  sender,
  oracle,
  onClose,
  onProven,
}: Omit<Props, "onMined"> & {
  readonly sender: string;
  readonly oracle: DevelopmentWallet | null;
  onProven(to: string, proofs: ReturnType<typeof readProofs>): Promise<void>;
}) {
  const schema = useMemo(() => schemaOf(oracle !== null), [oracle]);
  const receiver = oracle?.receivers.find((address) => !isSame(address, sender)) ?? "";
  return (
    <GraphForm
      schema={schema}
      defaultValues={{ to: receiver, proofs: "" }}
      label="Review"
      buttons={<CancelButton onClose={onClose} />}
      fieldOf={{ owner: "to", from: "to" }}
      send={async ({ to, proofs }) =>
        onProven(
          to,
          proofs ??
            toProofs(
              (await oracle?.prove(
                to,
                token.data.map(({ dataHash }) => dataHash),
              )) ?? [],
            ),
        )
      }
    >
      <p>
        {kind === "transfer"
          ? "The receiver becomes the owner. Every authorization ends."
          : "The receiver gets a copy. The original stays as it is."}{" "}
        Two proofs for each piece of data show that the receiver wants it, and that an oracle sealed its key
        for the receiver.
      </p>
      <TextField
        label="Receiver"
        name="to"
        required
        placeholder="0x…"
        maxLength={64}
        data-autofocus
        hint={oracle ? `On this development network: ${oracle.receivers.join(" or ")}.` : undefined}
      />
      <LongTextField
        label="Proofs"
        name="proofs"
        required={!oracle}
        rows={4}
        placeholder='[{ "accessProof": { … }, "ownershipProof": { … } }]'
        hint={
          oracle
            ? "JSON, as an oracle returns them. Leave it empty: the development network's oracle makes them."
            : "JSON, as the oracle of the contract returns them: one item for each piece of data, in their order."
        }
      />
      <ProofTexts contract={token.contract} tokenId={token.tokenId} />
    </GraphForm>
  );
}

/** The client adds the name of the type to each object. */
function withoutType(text: object): object {
  const { __typename: _, ...fields } = text as { readonly __typename?: unknown };
  return fields;
}

function schemaOf(hasOracle: boolean) {
  return z.object({
    to: addressField,
    proofs: z
      .string()
      .trim()
      .max(MAX_PROOFS_LENGTH, "Too long for 100 proofs.")
      .transform((text, context) => {
        if (text === "" && hasOracle) return undefined;
        try {
          if (text === "") throw new SyntaxError("The proofs of the contract's oracle, in JSON.");
          return readProofs(text);
        } catch (error) {
          context.addIssue({ code: "custom", message: (error as Error).message });
          return z.NEVER;
        }
      }),
  });
}

/** What the receiver signs for the access proofs, with new nonces. */
function ProofTexts({ contract, tokenId }: { contract: string; tokenId: string }) {
  const [{ data, error, fetching }, read] = useQuery({
    query: TEXTS,
    variables: { contract, tokenId },
    pause: true,
  });
  return (
    <details
      className="sealed-key"
      onToggle={({ currentTarget }) => {
        if (currentTarget.open && !data) read({ requestPolicy: "network-only" });
      }}
    >
      <summary>What the receiver signs</summary>
      <Outcome
        value={data && (data.accessProofTexts ?? null)}
        error={error}
        fetching={fetching}
        lines={2}
        onRetry={() => read({ requestPolicy: "network-only" })}
      >
        {(texts) => (
          <>
            <p className="about">
              The receiver signs each text with personal_sign. With the signatures, the oracle makes the
              proofs.
            </p>
            <Copyable text={JSON.stringify(texts.map(withoutType), null, 1)} label="Texts to sign" />
          </>
        )}
      </Outcome>
    </details>
  );
}
