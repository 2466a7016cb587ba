import * as z from "zod";
import { toNeuron, toPlainTokens } from "../../data/amounts.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { ChecksField, TextField } from "../../parts/form/fields.tsx";
import { MAX_NAME_LENGTH, text } from "../../parts/form/texts.ts";
import type { Webhook } from "./webhook.ts";

const EVENTS = [
  ["JOB_PROGRESSED", "an image job made a step"],
  ["JOB_ENDED", "an image job ended"],
  ["DEPOSIT_SEEN", "a deposit is on the chain"],
  ["DEPOSIT_CREDITED", "a deposit was credited"],
  ["DEPOSIT_REVERTED", "a deposit was reorged out"],
  ["BALANCE_LOW", "the balance is below the threshold"],
  ["API_KEY_CREATED", "an sk- key was created"],
  ["API_KEY_UPDATED", "an sk- key was changed"],
  ["API_KEY_REVOKED", "an sk- key was revoked"],
  ["API_KEY_LIMIT_REACHED", "an sk- key used 80% or all of its limit"],
  ["TAG_BUDGET_LIMIT_REACHED", "a tag used 80% or all of its budget"],
  ["MANAGEMENT_KEY_CREATED", "an mk- key was created"],
  ["MANAGEMENT_KEY_UPDATED", "an mk- key was changed"],
  ["MANAGEMENT_KEY_REVOKED", "an mk- key was revoked"],
  ["SEALED_KEY_PUBLISHED", "keys were sealed for this account"],
  ["SEALED_KEY_REVERTED", "sealed keys were reorged out"],
  ["WEBHOOK_DISABLED", "another webhook was disabled"],
] as const;
type EventName = (typeof EVENTS)[number][0];
const NAMES = EVENTS.map(([event]) => event) as [EventName, ...EventName[]];

const MAX_URL_LENGTH = 2_048;

/** The fields of a webhook's form, by the names of the mutation's input. */
export const webhookSchema = z.object({
  name: text(MAX_NAME_LENGTH, "A name, by which you know the webhook again."),
  url: z.url("A URL, such as https://example.com/events.").max(MAX_URL_LENGTH, "At most 2,048 characters."),
  events: z.array(z.enum(NAMES)).min(1, "Choose at least one event."),
  balanceThreshold: z.string().transform((text, context) => {
    if (text.trim() === "") return null;
    const neuron = toNeuron(text);
    if (neuron !== undefined) return neuron;
    context.addIssue({ code: "custom", message: "The threshold is not an amount, such as 0.5." });
    return z.NEVER;
  }),
});

/** The fields for a webhook, or for a new one. */
export function webhookValues(given: Webhook | undefined): z.input<typeof webhookSchema> {
  return {
    name: given?.name ?? "",
    url: given?.url ?? "",
    events: NAMES.filter((event) => given?.events.includes(event)),
    balanceThreshold: given?.balanceThreshold ? toPlainTokens(given.balanceThreshold) : "",
  };
}

/** The fields of a webhook. */
export function WebhookFields() {
  const { symbol } = useNetwork();
  return (
    <>
      <TextField label="Name" name="name" required maxLength={MAX_NAME_LENGTH} data-autofocus />
      <TextField label="URL" name="url" type="url" required maxLength={MAX_URL_LENGTH} />
      <ChecksField label="Events" name="events" options={Object.fromEntries(EVENTS)} />
      <TextField
        label={`Threshold in ${symbol}`}
        name="balanceThreshold"
        inputMode="decimal"
        placeholder="none"
        hint="Needed for an event of a low balance."
      />
    </>
  );
}
