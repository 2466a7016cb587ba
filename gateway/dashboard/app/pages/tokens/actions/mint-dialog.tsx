import * as z from "zod";
import { toastSuccess } from "../../../data/toast.ts";
import { SelectField, TextField } from "../../../parts/form/fields.tsx";
import { GraphForm } from "../../../parts/form/form.tsx";
import { text } from "../../../parts/form/texts.ts";
import { addressField, hashField } from "./address-field.ts";
import { MINT, prepare } from "./prepare.ts";
import { CancelButton, TransactionDialog } from "./transaction-dialog.tsx";

const MAX_DESCRIPTION_LENGTH = 200;
const schema = z.object({
  contract: addressField,
  description: text(MAX_DESCRIPTION_LENGTH, "What the data is."),
  dataHash: hashField,
});

/** Mints a token with one piece of data to the signed-in account. */
export function MintDialog({
  address,
  contracts,
  onClose,
}: {
  address: string;
  contracts: readonly string[];
  onClose(): void;
}) {
  return (
    <TransactionDialog
      title="Mint a token"
      summary="A new token with this data is minted to you."
      sender={address}
      onMined={() => toastSuccess("The token is minted to you.")}
      onClose={onClose}
    >
      {(onPrepared) => (
        <GraphForm
          schema={schema}
          defaultValues={{ contract: contracts[0] ?? "", description: "", dataHash: "" }}
          label="Review"
          buttons={<CancelButton onClose={onClose} />}
          fieldOf={{ data: "dataHash", from: "contract", to: "contract" }}
          send={async ({ contract, ...data }) =>
            onPrepared(await prepare(MINT, { contract, from: address, to: address, data: [data] }))
          }
        >
          {contracts.length > 1 && (
            <SelectField
              label="Contract"
              name="contract"
              options={Object.fromEntries(contracts.map((value) => [value, value]))}
            />
          )}
          <TextField
            label="Description"
            name="description"
            required
            maxLength={MAX_DESCRIPTION_LENGTH}
            placeholder="System prompt"
            data-autofocus
            hint="Public, on the chain."
          />
          <TextField
            label="Hash of the data"
            name="dataHash"
            required
            maxLength={80}
            placeholder="0x…"
            hint="Of the encrypted data: the root of its file, if it is in storage."
          />
        </GraphForm>
      )}
    </TransactionDialog>
  );
}
