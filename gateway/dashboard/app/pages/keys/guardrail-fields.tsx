import { Fieldset, Stack } from "@mantine/core";
import * as z from "zod";
import { CheckField, LongTextField, TextField } from "../../parts/form/fields.tsx";

/** The guardrails of a key, as the graph has them. */
export type Guardrails = {
  readonly maxInputTokens: number | null;
  readonly maxInputBytes: number | null;
  readonly maxOutputTokens: number | null;
  readonly allowedTools: string[];
  readonly blockedParameters: string[];
  readonly verifyTee: boolean;
};

const MAX_LIMIT = 2 ** 31 - 1;

const limit = z
  .string()
  .trim()
  .refine(
    (text) => text === "" || (/^[1-9]\d*$/.test(text) && Number(text) <= MAX_LIMIT),
    `A whole number from 1 to ${MAX_LIMIT.toLocaleString("en")}, or nothing.`,
  )
  .transform((text) => (text === "" ? null : Number(text)));
/** One per line, as the name of a tool may have a comma in it. */
const names = z.string().transform((text) =>
  text
    .split("\n")
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
  return {
    maxInputTokens: String(given?.maxInputTokens ?? ""),
    maxInputBytes: String(given?.maxInputBytes ?? ""),
    maxOutputTokens: String(given?.maxOutputTokens ?? ""),
    allowedTools: given?.allowedTools.join("\n") ?? "",
    blockedParameters: given?.blockedParameters.join("\n") ?? "",
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
        <LongTextField name="allowedTools" label="Allowed tools" hint="One per line. Empty: all tools." />
        <LongTextField
          name="blockedParameters"
          label="Blocked parameters"
          hint="Fields of a request that are refused, such as logprobs, one per line."
        />
        <CheckField name="verifyTee" label="Verify the signature of every answer" />
      </Stack>
    </Fieldset>
  );
}
