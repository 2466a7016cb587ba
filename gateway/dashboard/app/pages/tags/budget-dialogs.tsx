import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useMutation } from "urql";
import * as z from "zod";
import { toNeuron, toPlainTokens, toTokens } from "../../data/amounts.ts";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { toastSuccess } from "../../data/toast.ts";
import { ConfirmDialog, Dialog } from "../../parts/form/dialog.tsx";
import { SelectField, TextField } from "../../parts/form/fields.tsx";
import { GraphForm } from "../../parts/form/form.tsx";
import { text } from "../../parts/form/texts.ts";
import { useOwnClose } from "../../parts/form/use-own-close.ts";
import { textOf } from "./spend-rows.ts";
import type { Budget, Tag } from "./tag-queries.ts";

const CREATE = graphql(`
  mutation CreateTagBudget($input: CreateTagBudgetInput!) {
    createTagBudget(input: $input) { tagBudget { id } userErrors { field message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateTagBudget($input: UpdateTagBudgetInput!) {
    updateTagBudget(input: $input) { tagBudget { id } userErrors { field message } }
  }
`);
const DELETE = graphql(`
  mutation DeleteTagBudget($input: DeleteTagBudgetInput!) {
    deleteTagBudget(input: $input) { deleted userErrors { field message } }
  }
`);

/** How often a budget is reset, in words. */
export const PERIODS = {
  NEVER: "never",
  DAILY: "every day",
  WEEKLY: "every week",
  MONTHLY: "every month",
} as const;

/** Which dialog is open. A new budget may be of a tag that is known already. */
export type OpenBudget =
  | { readonly kind: "create"; readonly tag?: Tag }
  | { readonly kind: "edit" | "delete"; readonly budget: Budget };

/** In bytes, of which a character has at least one: the server names the field of a text with more. */
const MAX_TAG_NAME = 64;
const MAX_TAG_VALUE = 512;

const schema = z.object({
  name: text(MAX_TAG_NAME, "A name, such as team."),
  value: text(MAX_TAG_VALUE, "A value, such as search."),
  creditLimit: z.string().transform((text, context) => {
    const neuron = toNeuron(text);
    if (neuron !== undefined) return neuron;
    context.addIssue({ code: "custom", message: "The budget must be an amount such as 2.5." });
    return z.NEVER;
  }),
  resetPeriod: z.enum(["NEVER", "DAILY", "WEEKLY", "MONTHLY"]),
});

/** The dialogs that create, change and delete the budget of a tag. */
export function BudgetDialogs({
  open,
  onClose,
  onDone,
}: {
  open: OpenBudget | undefined;
  onClose(): void;
  /** Called when a budget was changed. */
  onDone(): void;
}): ReactNode {
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, remove] = useMutation(DELETE);
  const { symbol } = useNetwork();
  const closeAfter = useOwnClose(open, onClose);
  if (!open) return null;
  if (open.kind === "delete") {
    const { id, tag } = open.budget;
    return (
      <ConfirmDialog
        title={`Delete the budget of ${textOf(tag)}?`}
        label="Delete"
        done={`${textOf(tag)} has no budget any more.`}
        onClose={onClose}
        act={async () => {
          const done = await remove({ input: { id } });
          resultOf(done.data?.deleteTagBudget, done.error);
          onDone();
        }}
      >
        <p>
          Requests with this tag are no longer limited by it: the limits of their keys and the balance remain.
          What they spent stays in the usage.
        </p>
      </ConfirmDialog>
    );
  }
  const given = open.kind === "edit" ? open.budget : undefined;
  const tag = open.kind === "create" ? open.tag : open.budget.tag;
  return (
    <Dialog title={given ? `Budget of ${textOf(given.tag)}` : "Create a budget"} onClose={onClose}>
      <GraphForm
        schema={schema}
        defaultValues={{
          name: tag?.name ?? "",
          value: tag?.value ?? "",
          creditLimit: given ? toPlainTokens(given.creditLimit) : "",
          resetPeriod: given?.resetPeriod ?? "MONTHLY",
        }}
        label={given ? "Save" : "Create"}
        fieldOf={{ "tag.name": "name", "tag.value": "value", tag: "name" }}
        buttons={
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        }
        send={async ({ name, value, creditLimit, resetPeriod }, changes) => {
          if (!given) {
            const done = await create({ input: { tag: { name, value }, creditLimit, resetPeriod } });
            resultOf(done.data?.createTagBudget, done.error);
          } else if (Object.keys(changes).length > 0) {
            const done = await update({ input: { id: given.id, ...changes } });
            resultOf(done.data?.updateTagBudget, done.error);
          }
          toastSuccess(`${textOf({ name, value })} may spend ${toTokens(creditLimit)} ${symbol}.`);
          onDone();
          closeAfter();
        }}
      >
        {!given && (
          <>
            <TextField
              label="Name"
              name="name"
              required
              maxLength={MAX_TAG_NAME}
              data-autofocus
              placeholder="team"
            />
            <TextField label="Value" name="value" required maxLength={MAX_TAG_VALUE} placeholder="search" />
          </>
        )}
        <TextField
          label={`Budget in ${symbol}`}
          name="creditLimit"
          inputMode="decimal"
          required
          {...(given && { "data-autofocus": true })}
          hint="Requests with the tag are refused when they could exceed it, whichever key pays."
        />
        <SelectField
          label="Resets"
          name="resetPeriod"
          options={PERIODS}
          hint="At midnight UTC; weeks begin on Monday, months on the first."
        />
      </GraphForm>
    </Dialog>
  );
}
