import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { toNeuron, toTokens } from "../amounts.ts";
import { graphql, resultOf } from "../graph.ts";
import { useNetwork } from "../session.tsx";
import { Button, Choice, Field } from "../ui/controls.tsx";
import {
  clearedGuardrails,
  GuardrailFields,
  type Guardrails,
  readGuardrails,
} from "../ui/guardrail-fields.tsx";
import { KeyActions, KeyDialogs, type OpenDialog } from "../ui/key-dialogs.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Live, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";

const KEYS = graphql(`
  query ApiKeys($filter: ApiKeyFilterInput, $after: Cursor) {
    viewer {
      account {
        apiKeys(filter: $filter, first: 20, after: $after) {
          nodes {
            id name preview status createdAt lastUsedAt expiresAt creditLimit used resetPeriod allowedModels
            allowedProviders trustMode providerEvidence maxInputTokens maxInputBytes maxOutputTokens allowedTools
            blockedParameters verifyTee
          }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
    models(first: 100) { nodes { modelId } }
  }
`);
const CHANGED = graphql("subscription Keys($after: Cursor) { keyChanged(after: $after) { cursor kind } }");
const CREATE = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret apiKey { id } userErrors { message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateApiKey($input: UpdateApiKeyInput!) {
    updateApiKey(input: $input) { apiKey { id } userErrors { message } }
  }
`);
const REVOKE = graphql(`
  mutation RevokeApiKey($input: RevokeApiKeyInput!) {
    revokeApiKey(input: $input) { apiKey { id } userErrors { message } }
  }
`);

const PERIODS = { NEVER: "never", DAILY: "every day", WEEKLY: "every week", MONTHLY: "every month" } as const;
const EVIDENCE = {
  "": "not required",
  BOUND: "signed answers",
  ATTESTED: "signed answers, attested enclave",
} as const;
const TRUST = { "": "any", VERIFIED: "verified", PRIVATE: "private" } as const;

type Key = Guardrails & {
  readonly id: string;
  readonly name: string;
  readonly preview: string;
  readonly status: string;
  readonly expiresAt: string | null;
  readonly creditLimit: string | null;
  readonly resetPeriod: keyof typeof PERIODS;
  readonly allowedModels: readonly string[];
  readonly trustMode: "VERIFIED" | "PRIVATE" | null;
  readonly providerEvidence: "BOUND" | "ATTESTED" | null;
};

/** The keys for OpenAI and Anthropic clients. */
export function ApiKeysPage() {
  const pages = usePages();
  const [onlyActive, setOnlyActive] = useState(true);
  const [{ data, error, fetching }, refetch] = useQuery({
    query: KEYS,
    variables: { filter: onlyActive ? { statuses: ["ACTIVE"] } : null, after: pages.after },
  });
  const [open, setOpen] = useState<OpenDialog<Key>>();
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, revoke] = useMutation(REVOKE);
  const refresh = () => refetch({ requestPolicy: "network-only" });
  const liveness = useLive(CHANGED, {}, { onEvent: refresh });
  const keys = data?.viewer?.account?.apiKeys;
  const models = data?.models?.nodes.map(({ modelId }) => modelId) ?? [];
  return (
    <Page
      title="API keys"
      about="An sk- key lets a client call models and spend this account's balance, within the limits you set."
      actions={
        <>
          <Live liveness={liveness} />
          <Button kind="primary" onClick={() => setOpen({ kind: "create" })}>
            Create a key
          </Button>
        </>
      }
    >
      <label className="check">
        <input type="checkbox" checked={!onlyActive} onChange={() => setOnlyActive(!onlyActive)} />
        Include revoked and expired keys
      </label>
      <Outcome rows={keys?.nodes} error={error} fetching={fetching} empty="No keys yet. Create one to start.">
        {(rows) => (
          <Table
            label="API keys"
            heads={["Name", "Key", "State", "Used", "Limit", "Last used", "Expires", "Models", ""]}
          >
            {rows.map((key) => (
              <tr key={key.id}>
                <td>{key.name}</td>
                <td>
                  <code>{key.preview}</code>
                </td>
                <td>
                  <Badge state={key.status} />
                </td>
                <td>
                  <Money neuron={key.used} />
                </td>
                <td>
                  {key.creditLimit ? <Money neuron={key.creditLimit} /> : <span className="quiet">none</span>}
                  {key.creditLimit && key.resetPeriod !== "NEVER" && ` ${PERIODS[key.resetPeriod]}`}
                </td>
                <td>
                  <Time at={key.lastUsedAt} />
                </td>
                <td>
                  <Time at={key.expiresAt} />
                </td>
                <td>{key.allowedModels.length > 0 ? key.allowedModels.join(", ") : "all models"}</td>
                <td className="actions">
                  <KeyActions of={key} onOpen={setOpen} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Outcome>
      {pages.pager(keys?.pageInfo)}
      <KeyDialogs
        open={open}
        onOpen={setOpen}
        what="an API key"
        fields={(given) => <LimitFields given={given} models={models} />}
        termsOf={termsOf}
        create={async (terms) => {
          const made = await create({ input: terms });
          return resultOf(made.data?.createApiKey, made.error).secret ?? "";
        }}
        update={async ({ id }, { creditLimit, expiresAt, trustMode, providerEvidence, ...rest }) => {
          const clear = [
            ...(creditLimit ? [] : ["CREDIT_LIMIT" as const]),
            ...(expiresAt ? [] : ["EXPIRES_AT" as const]),
            ...(trustMode ? [] : ["TRUST_MODE" as const]),
            ...(providerEvidence ? [] : ["PROVIDER_EVIDENCE" as const]),
            ...clearedGuardrails(rest),
          ];
          const limits = {
            ...(creditLimit && { creditLimit }),
            ...(expiresAt && { expiresAt }),
            ...(trustMode && { trustMode }),
            ...(providerEvidence && { providerEvidence }),
          };
          const done = await update({ input: { id, ...rest, ...limits, clear } });
          resultOf(done.data?.updateApiKey, done.error);
        }}
        revoke={async ({ id }) => {
          const done = await revoke({ input: { id } });
          resultOf(done.data?.revokeApiKey, done.error);
        }}
        consequence={({ preview }) => (
          <p>
            Every client that uses <code>{preview}</code> is refused at once. This cannot be undone.
          </p>
        )}
      />
    </Page>
  );
}

type Terms = Guardrails & {
  readonly expiresAt: string | null;
  readonly creditLimit: string | null;
  readonly resetPeriod: keyof typeof PERIODS;
  readonly allowedModels: string[];
  readonly trustMode: "VERIFIED" | "PRIVATE" | null;
  readonly providerEvidence: "BOUND" | "ATTESTED" | null;
};

function LimitFields({ models, given }: { models: readonly string[]; given: Key | undefined }) {
  const { symbol } = useNetwork();
  const [limit, setLimit] = useState(
    given?.creditLimit ? toTokens(given.creditLimit).replaceAll(" ", "") : "",
  );
  const listed = [...new Set([...models, ...(given?.allowedModels ?? [])])];
  return (
    <>
      <Field
        label={`Limit in ${symbol}`}
        name="limit"
        inputMode="decimal"
        placeholder="none"
        hint="Empty: no limit."
        value={limit}
        onChange={({ target }) => setLimit(target.value)}
      />
      {toNeuron(limit) === "0" && (
        <p role="status" className="notice">
          With a limit of 0 the key can spend nothing: every request that costs something is refused.
        </p>
      )}
      <Choice
        label="Limit resets"
        name="period"
        options={PERIODS}
        defaultValue={given?.resetPeriod ?? "NEVER"}
      />
      <Field
        label="Expires"
        name="expires"
        type="datetime-local"
        defaultValue={given?.expiresAt ? localTime(given.expiresAt) : ""}
        hint="In this computer's time zone. Empty: never."
      />
      <Choice
        label="Minimum provider trust"
        name="trust"
        options={TRUST}
        defaultValue={given?.trustMode ?? ""}
      />
      <Choice
        label="Evidence of providers"
        name="evidence"
        options={EVIDENCE}
        defaultValue={given?.providerEvidence ?? ""}
        hint="Only providers that recently proved an answer are used; an answer without proof is marked, but billed."
      />
      <fieldset>
        <legend>Models (none selected: all models)</legend>
        {listed.map((model) => (
          <label key={model} className="check">
            <input
              type="checkbox"
              name="model"
              value={model}
              defaultChecked={given?.allowedModels.includes(model)}
            />
            {model}
          </label>
        ))}
      </fieldset>
      <GuardrailFields given={given} />
    </>
  );
}

function termsOf(form: FormData): Terms {
  const limit = String(form.get("limit")).trim();
  const creditLimit = limit === "" ? null : toNeuron(limit);
  if (creditLimit === undefined) throw new Error("The limit must be an amount such as 2.5.");
  const expires = String(form.get("expires"));
  const trust = String(form.get("trust"));
  const evidence = String(form.get("evidence"));
  return {
    creditLimit,
    resetPeriod: String(form.get("period")) as keyof typeof PERIODS,
    expiresAt: expires === "" ? null : new Date(expires).toISOString(),
    trustMode: trust === "VERIFIED" || trust === "PRIVATE" ? trust : null,
    providerEvidence: evidence === "BOUND" || evidence === "ATTESTED" ? evidence : null,
    allowedModels: form.getAll("model").map(String),
    ...readGuardrails(form),
  };
}

function localTime(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
