import { Field } from "./controls.tsx";

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

/** The fields of a form for the limits on what the requests of a key contain. */
export function GuardrailFields({ given }: { readonly given: Guardrails | undefined }) {
  return (
    <fieldset>
      <legend>Guardrails (empty: no limit)</legend>
      <LimitField name="maxInputTokens" label="Most tokens of a prompt" given={given} />
      <LimitField name="maxInputBytes" label="Most bytes of a request" given={given} />
      <LimitField name="maxOutputTokens" label="Most tokens of an answer" given={given} />
      <Field
        label="Allowed tools"
        name="allowedTools"
        defaultValue={given?.allowedTools.join(", ") ?? ""}
        hint="Names with commas. Empty: all tools."
      />
      <Field
        label="Blocked parameters"
        name="blockedParameters"
        defaultValue={given?.blockedParameters.join(", ") ?? ""}
        hint="Fields of a request that are refused, such as logprobs, n."
      />
      <label className="check">
        <input type="checkbox" name="verifyTee" defaultChecked={given?.verifyTee ?? false} />
        Verify the signature of every answer
      </label>
    </fieldset>
  );
}

function LimitField({
  name,
  label,
  given,
}: {
  readonly name: Limit;
  readonly label: string;
  readonly given: Guardrails | undefined;
}) {
  return (
    <Field
      label={label}
      name={name}
      type="number"
      min={1}
      step={1}
      placeholder="none"
      defaultValue={given?.[name] ?? ""}
    />
  );
}

/** The guardrails that a form states. */
export function readGuardrails(form: FormData): Guardrails {
  return {
    maxInputTokens: limitIn(form, "maxInputTokens"),
    maxInputBytes: limitIn(form, "maxInputBytes"),
    maxOutputTokens: limitIn(form, "maxOutputTokens"),
    allowedTools: namesIn(form, "allowedTools"),
    blockedParameters: namesIn(form, "blockedParameters"),
    verifyTee: form.has("verifyTee"),
  };
}

/** The limits to remove from a key that is to have these guardrails. */
export function clearedGuardrails(guardrails: Guardrails) {
  const names = Object.keys(LIMITS) as Limit[];
  return names.filter((name) => guardrails[name] === null).map((name) => LIMITS[name]);
}

function limitIn(form: FormData, name: Limit): number | null {
  const text = String(form.get(name) ?? "").trim();
  return text === "" ? null : Number(text);
}

function namesIn(form: FormData, name: string): string[] {
  const names = String(form.get(name) ?? "").split(",");
  return names.map((one) => one.trim()).filter((one) => one !== "");
}
