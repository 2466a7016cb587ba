import { Fieldset, Stack } from "@mantine/core";
import * as z from "zod";
import { CheckField, TextField } from "../../parts/form/fields.tsx";

/** The guardrails of a key, as the graph has them. */
export type Guardrails = {
  readonly maxInputTokens: number | null;
  readonly maxInputBytes: number | null;
  readonly maxOutputTokens: number | null;
  readonly allowedTools: string[];
  readonly blockedParameters: string[];
  readonly verifyTee: boolean;
};

const LIMITS = {
  maxInputTokens: "MAX_INPUT_TOKENS",
  maxInputBytes: "MAX_INPUT_BYTES",
  maxOutputTokens: "MAX_OUTPUT_TOKENS",
} as const;
type Limit = keyof typeof LIMITS;

const limit = z
  .string()
  .trim()
  .regex(/^(?:[1-9]\d{0,8})?$/, "A whole number above 0, or nothing.")
  .transform((text) => (text === "" ? null : Number(text)));
const names = z.string().transform((text) =>
  text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== ""),
);

/** The fields of a form for the guardrails, and the guardrails that they state. */
export const guardrailsSchema = z.object({
  maxInputTokens: limit,
  maxInputBytes: limit,
  maxOutputTokens: limit,
  allowedTools: names,
  blockedParameters: names,
  verifyTee: z.boolean(),
});

/** The fields for a key, or for a new one. */
export function guardrailValues(given: Guardrails | undefined): z.input<typeof guardrailsSchema> {
  const text = (name: Limit) => String(given?.[name] ?? "");
  return {
    maxInputTokens: text("maxInputTokens"),
    maxInputBytes: text("maxInputBytes"),
    maxOutputTokens: text("maxOutputTokens"),
    allowedTools: given?.allowedTools.join(", ") ?? "",
    blockedParameters: given?.blockedParameters.join(", ") ?? "",
    verifyTee: given?.verifyTee ?? false,
  };
}

/** The fields of a form for the limits on what the requests of a key contain. */
export function GuardrailFields() {
  const limit = { inputMode: "numeric", placeholder: "none" } as const;
  return (
    <Fieldset legend="Guardrails (empty: no limit)">
      <Stack gap="sm">
        <TextField name="maxInputTokens" label="Most tokens of a prompt" {...limit} />
        <TextField name="maxInputBytes" label="Most bytes of a request" {...limit} />
        <TextField name="maxOutputTokens" label="Most tokens of an answer" {...limit} />
        <TextField name="allowedTools" label="Allowed tools" hint="Names with commas. Empty: all tools." />
        <TextField
          name="blockedParameters"
          label="Blocked parameters"
          hint="Fields of a request that are refused, such as logprobs, n."
        />
        <CheckField name="verifyTee" label="Verify the signature of every answer" />
      </Stack>
    </Fieldset>
  );
}

/** The limits to remove from a key that is to have these guardrails. */
export function clearedGuardrails(guardrails: Guardrails) {
  const names = Object.keys(LIMITS) as Limit[];
  return names.filter((name) => guardrails[name] === null).map((name) => LIMITS[name]);
}
