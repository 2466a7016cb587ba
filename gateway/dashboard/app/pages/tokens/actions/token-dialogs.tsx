import type { ReactNode } from "react";
import * as z from "zod";
import { useSession } from "../../../data/session/session.tsx";
import { TextField } from "../../../parts/form/fields.tsx";
import { GraphForm } from "../../../parts/form/form.tsx";
import { Account } from "../account.tsx";
import { isSame, shortId, type Token } from "../token-queries.ts";
import { addressField } from "./address-field.ts";
import { MoveDialog } from "./move-dialog.tsx";
import { AUTHORIZE, DELEGATE, prepare, REVOKE } from "./prepare.ts";
import { CancelButton, TransactionDialog } from "./transaction-dialog.tsx";

/** Which dialog of a token is open. */
export type Open =
  | { readonly kind: "transfer" | "clone" | "authorize" | "delegate" }
  | { readonly kind: "revoke"; readonly user: string };

type Props = { readonly token: Token; onMined(): void; onClose(): void };

/** The dialogs that change a token, or who may use it. */
export function TokenDialogs({ open, ...props }: Props & { readonly open: Open }): ReactNode {
  switch (open.kind) {
    case "transfer":
    case "clone":
      return <MoveDialog {...props} kind={open.kind} />;
    case "authorize":
      return <AuthorizeDialog {...props} />;
    case "revoke":
      return <AuthorizeDialog {...props} revoked={open.user} />;
    case "delegate":
      return <DelegateDialog {...props} />;
  }
}

const user = z.object({ user: addressField });

/** Authorizes an account, or, with `revoked`, revokes the authorization of one. */
function AuthorizeDialog({ token, revoked, onMined, onClose }: Props & { readonly revoked?: string }) {
  const sender = useSession().address ?? "";
  const { contract, tokenId } = token;
  const isRevoking = revoked !== undefined;
  return (
    <TransactionDialog
      title={isRevoking ? "Revoke an authorization" : "Authorize an account"}
      summary={
        isRevoking
          ? `The account may no longer use token #${shortId(tokenId)}.`
          : `The account may use token #${shortId(tokenId)}, until you revoke it or transfer the token.`
      }
      sender={sender}
      onMined={onMined}
      onClose={onClose}
    >
      {(onPrepared) => (
        <GraphForm
          schema={user}
          defaultValues={{ user: revoked ?? "" }}
          label="Review"
          buttons={<CancelButton onClose={onClose} />}
          fieldOf={{ from: "user" }}
          send={async (values) =>
            onPrepared(
              await prepare(isRevoking ? REVOKE : AUTHORIZE, { contract, tokenId, from: sender, ...values }),
              { Account: values.user },
            )
          }
        >
          <p>
            {isRevoking
              ? "The account loses access to the token at once."
              : "An authorized account may use the token, such as to run its agent. It cannot transfer it, and gets no keys by this. At most 100 accounts can be authorized."}
          </p>
          <TextField
            label="Account"
            name="user"
            required
            placeholder="0x…"
            maxLength={64}
            readOnly={isRevoking}
            data-autofocus
          />
        </GraphForm>
      )}
    </TransactionDialog>
  );
}

const assistant = z.object({ assistant: addressField });
const NOBODY = `0x${"0".repeat(40)}`;

/** Delegates the signing of access proofs, or ends the delegation. */
function DelegateDialog({ token, onMined, onClose }: Props) {
  const sender = useSession().address ?? "";
  const { contract, owner } = token;
  const current = owner?.accessDelegations.find((one) => isSame(one.contract, contract))?.assistant.address;
  return (
    <TransactionDialog
      title="Delegate access proofs"
      summary="The assistant may sign for you that you want to receive tokens of this contract."
      sender={sender}
      onMined={onMined}
      onClose={onClose}
    >
      {(onPrepared) => (
        <GraphForm
          schema={assistant}
          defaultValues={{ assistant: current ?? "" }}
          label="Review"
          buttons={<CancelButton onClose={onClose} />}
          fieldOf={{ from: "assistant" }}
          send={async (values) =>
            onPrepared(await prepare(DELEGATE, { contract, from: sender, ...values }), {
              Assistant: values.assistant,
            })
          }
        >
          <p>
            To receive a token, its receiver signs an access proof. An assistant may sign it in your place,
            for all tokens of the contract <Account of={contract} />.
          </p>
          <TextField
            label="Assistant"
            name="assistant"
            required
            placeholder="0x…"
            maxLength={64}
            hint={`The zero address, ${NOBODY}, ends the delegation.`}
            data-autofocus
          />
        </GraphForm>
      )}
    </TransactionDialog>
  );
}
