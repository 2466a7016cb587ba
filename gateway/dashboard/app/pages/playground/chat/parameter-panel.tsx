import {
  CheckField,
  ChecksField,
  LongTextField,
  SelectField,
  TextField,
} from "../../../parts/form/fields.tsx";

const TOOL_EXAMPLE = `[{"name": "weather", "description": "…", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]`;
const SCHEMA_EXAMPLE = `{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`;

/** A provider that offers one of the chosen models. */
export type ProviderOption = { readonly address: string; readonly trustMode: string };

/** The parameters of a chat besides its messages: fields of `parameterSchema`. */
export function ParameterPanel({
  takesEffort,
  providers,
}: {
  takesEffort: boolean;
  providers: readonly ProviderOption[];
}) {
  return (
    <>
      <LongTextField label="System prompt" name="system" rows={3} placeholder="You answer in one sentence." />
      <div className="pair-of-fields">
        <TextField label="Temperature" name="temperature" placeholder="0 to 2" inputMode="decimal" />
        <TextField label="Top P" name="topP" placeholder="0 to 1" inputMode="decimal" />
        <TextField label="Max tokens" name="maxTokens" placeholder="Model default" inputMode="numeric" />
        <TextField label="Seed" name="seed" placeholder="none" inputMode="numeric" />
      </div>
      {takesEffort && (
        <SelectField
          label="Reasoning effort"
          name="effort"
          options={{ "": "Model default", minimal: "minimal", low: "low", medium: "medium", high: "high" }}
        />
      )}
      <LongTextField
        label="Tools"
        name="tools"
        hint="Function definitions as JSON. You enter what a tool returns."
        placeholder={TOOL_EXAMPLE}
        rows={4}
      />
      <LongTextField
        label="Structured output"
        name="schema"
        hint="A JSON schema that the answer has to match."
        placeholder={SCHEMA_EXAMPLE}
        rows={4}
      />
      <SelectField
        label="Provider order"
        name="sort"
        options={{
          "": "Automatic",
          price: "cheapest first",
          latency: "quickest first token first",
          throughput: "most tokens per second first",
        }}
      />
      {providers.length > 1 && (
        <ChecksField
          label="Only these providers"
          name="only"
          options={Object.fromEntries(
            providers.map(({ address, trustMode }) => [
              address,
              `${address.slice(0, 8)}…${address.slice(-4)} (${trustMode.toLowerCase()})`,
            ]),
          )}
        />
      )}
      <CheckField label="Verify the provider's signature (verify_tee)" name="verify" />
    </>
  );
}
