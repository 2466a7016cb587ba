import { Alert } from "@mantine/core";
import type { ResultOf } from "gql.tada";
import { useWatch } from "react-hook-form";
import * as z from "zod";
import { toNeuron, toPlainTokens } from "../../data/amounts.ts";
import { useWhole } from "../../data/list/use-whole.ts";
import { graphql } from "../../data/query/graph.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { ChecksField, SelectField, TextField } from "../../parts/form/fields.tsx";
import { MAX_NAME_LENGTH, text } from "../../parts/form/texts.ts";
import { Note } from "../../parts/page/states.tsx";
import { GuardrailFields, type Guardrails, guardrailsSchema, guardrailValues } from "./guardrail-fields.tsx";
import { localTime } from "./key-changes.ts";

const MODELS = graphql(`
  query KeyModels($after: Cursor) {
    models(first: 100, after: $after) { nodes { modelId } pageInfo { hasNextPage endCursor } }
  }
`);
const PROVIDERS = graphql(`
  query KeyProviders($after: Cursor) {
    providers(first: 100, after: $after) { nodes { address } pageInfo { hasNextPage endCursor } }
  }
`);
const EVERY_MODEL = { query: MODELS, pick: ({ models }: ResultOf<typeof MODELS>) => models };
const EVERY_PROVIDER = { query: PROVIDERS, pick: ({ providers }: ResultOf<typeof PROVIDERS>) => providers };

export const PERIODS = {
  NEVER: "never",
  DAILY: "every day",
  WEEKLY: "every week",
  MONTHLY: "every month",
} as const;
const EVIDENCE = {
  "": "not required",
  BOUND: "signed answers",
  ATTESTED: "signed answers, attested enclave",
} as const;
const TRUST = { "": "any", VERIFIED: "verified", PRIVATE: "private" } as const;

/** An API key, as its form needs it. */
export type Key = Guardrails & {
  readonly id: string;
  readonly name: string;
  readonly preview: string;
  readonly status: string;
  readonly expiresAt: string | null;
  readonly creditLimit: string | null;
  readonly resetPeriod: keyof typeof PERIODS;
  readonly allowedModels: readonly string[];
  readonly allowedProviders: readonly string[];
  readonly trustMode: "VERIFIED" | "PRIVATE" | null;
  readonly providerEvidence: "BOUND" | "ATTESTED" | null;
};

const creditLimit = z.string().transform((text, context) => {
  if (text.trim() === "") return null;
  const neuron = toNeuron(text);
  if (neuron !== undefined) return neuron;
  context.addIssue({ code: "custom", message: "The limit must be an amount such as 2.5." });
  return z.NEVER;
});
const expiresAt = z.string().transform((text, context) => {
  if (text === "") return null;
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  context.addIssue({ code: "custom", message: "A date and a time." });
  return z.NEVER;
});

/** The fields of a key's form, by the names of the mutation's input. */
export const keySchema = z.object({
  name: text(MAX_NAME_LENGTH, "A name, by which you know the key again."),
  creditLimit,
  resetPeriod: z.enum(["NEVER", "DAILY", "WEEKLY", "MONTHLY"]),
  expiresAt,
  trustMode: z.enum(["", "VERIFIED", "PRIVATE"]).transform((mode) => mode || null),
  providerEvidence: z.enum(["", "BOUND", "ATTESTED"]).transform((level) => level || null),
  allowedModels: z.array(z.string()),
  allowedProviders: z.array(z.string()),
  ...guardrailsSchema.shape,
});

const lowerCase = (address: string) => address.toLowerCase();

/** The fields for a key, or for a new one. */
export function keyValues(given: Key | undefined): z.input<typeof keySchema> {
  return {
    name: given?.name ?? "",
    creditLimit: given?.creditLimit ? toPlainTokens(given.creditLimit) : "",
    resetPeriod: given?.resetPeriod ?? "NEVER",
    expiresAt: given?.expiresAt ? localTime(given.expiresAt) : "",
    trustMode: given?.trustMode ?? "",
    providerEvidence: given?.providerEvidence ?? "",
    allowedModels: [...(given?.allowedModels ?? [])],
    allowedProviders: (given?.allowedProviders ?? []).map(lowerCase),
    ...guardrailValues(given),
  };
}

/** The fields of a key besides its name. */
export function KeyFields({ given }: { given: Key | undefined }) {
  const { symbol } = useNetwork();
  const models = useWhole(EVERY_MODEL).rows?.map(({ modelId }) => modelId) ?? [];
  const known = useWhole(EVERY_PROVIDER).rows?.map(({ address }) => address) ?? [];
  const limit: string = useWatch({ name: "creditLimit" });
  const listed = [...new Set([...models, ...(given?.allowedModels ?? [])])];
  const providers = [...new Set([...known, ...(given?.allowedProviders ?? [])].map(lowerCase))];
  return (
    <>
      <Note>
        An sk- key calls models, and reads the jobs, batches and files that it made. It cannot read the
        balance or the usage, nor manage keys: that takes a management key (mk-).
      </Note>
      <TextField
        label={`Limit in ${symbol}`}
        name="creditLimit"
        inputMode="decimal"
        placeholder="none"
        hint="Empty: no limit."
      />
      {toNeuron(limit) === "0" && (
        <Alert role="status" color="yellow">
          With a limit of 0 the key can spend nothing: every request that costs something is refused.
        </Alert>
      )}
      <SelectField label="Resets" name="resetPeriod" options={PERIODS} />
      <TextField
        label="Expires"
        name="expiresAt"
        type="datetime-local"
        hint="In this computer's time zone. Empty: never."
      />
      <SelectField label="Minimum provider trust" name="trustMode" options={TRUST} />
      <SelectField
        label="Evidence of providers"
        name="providerEvidence"
        options={EVIDENCE}
        hint="Only providers that recently proved an answer are used; an answer without proof is marked, but billed."
      />
      {listed.length > 0 && (
        <ChecksField
          label="Models (none selected: all models)"
          name="allowedModels"
          options={Object.fromEntries(listed.map((model) => [model, model]))}
        />
      )}
      {providers.length > 0 && (
        <ChecksField
          label="Providers (none selected: all providers)"
          name="allowedProviders"
          options={Object.fromEntries(providers.map((address) => [address, address]))}
        />
      )}
      <GuardrailFields />
    </>
  );
}
