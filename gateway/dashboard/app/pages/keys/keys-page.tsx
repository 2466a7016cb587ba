import { Button, Checkbox } from "@mantine/core";
import Plus from "lucide-react/icons/plus";
import { useState } from "react";
import { useMutation } from "urql";
import { graphql, resultOf } from "../../data/graph.ts";
import { useFilters, useList } from "../../data/use-list.ts";
import { Amount } from "../../parts/amount.tsx";
import type { Column } from "../../parts/column.ts";
import { KeyActions, KeyDialogs, type OpenDialog } from "../../parts/key-dialogs.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Page } from "../../parts/page.tsx";
import { Live, StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { clearedGuardrails } from "./guardrail-fields.tsx";
import { type Key, KeyFields, keySchema, keyValues, PERIODS } from "./key-fields.tsx";

const KEYS = graphql(`
  query ApiKeys($filter: ApiKeyFilterInput, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    viewer {
      account {
        apiKeys(filter: $filter, first: $first, last: $last, after: $after, before: $before) {
          nodes {
            id name preview status createdAt lastUsedAt expiresAt creditLimit used resetPeriod allowedModels
            allowedProviders trustMode providerEvidence maxInputTokens maxInputBytes maxOutputTokens allowedTools
            blockedParameters verifyTee
          }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  }
`);
const CHANGED = graphql("subscription Keys($after: Cursor) { keyChanged(after: $after) { cursor kind } }");
const CREATE = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret apiKey { id } userErrors { field message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateApiKey($input: UpdateApiKeyInput!) {
    updateApiKey(input: $input) { apiKey { id } userErrors { field message } }
  }
`);
const REVOKE = graphql(`
  mutation RevokeApiKey($input: RevokeApiKeyInput!) {
    revokeApiKey(input: $input) { apiKey { id } userErrors { field message } }
  }
`);

/** The keys for OpenAI and Anthropic clients. */
export function KeysPage() {
  const [{ all = false }, filter] = useFilters<{ all?: boolean | undefined }>();
  const list = useList({
    query: KEYS,
    variables: { filter: all ? null : { statuses: ["ACTIVE"] } },
    pick: ({ viewer }) => viewer?.account?.apiKeys,
    changes: CHANGED,
  });
  const [open, setOpen] = useState<OpenDialog<Key>>();
  const make = () => setOpen({ kind: "create" });
  return (
    <Page
      title="API keys"
      about="An sk- key lets a client call models and spend this account's balance, within the limits you set."
      actions={
        <>
          {list.liveness && <Live liveness={list.liveness} />}
          <Button leftSection={<Plus size={16} />} onClick={make}>
            Create a key
          </Button>
        </>
      }
    >
      <ListTable
        label="API keys"
        list={list}
        columns={columnsOf(setOpen)}
        keyOf={({ id }) => id}
        canChoose
        filters={
          <Checkbox
            label="Include revoked and expired keys"
            checked={all}
            onChange={({ currentTarget }) => filter({ all: currentTarget.checked || undefined })}
          />
        }
        empty={
          <EmptyState title="No keys yet.">
            <p>Create one, and give it to any OpenAI or Anthropic client.</p>
          </EmptyState>
        }
      />
      <Dialogs open={open} onOpen={setOpen} />
    </Page>
  );
}

type Row = Key & { readonly used: string; readonly lastUsedAt: string | null };

function columnsOf(onOpen: (open: OpenDialog<Key>) => void): readonly Column<Row>[] {
  return [
    { id: "name", name: "Name", cell: ({ name }) => <strong>{name}</strong> },
    { id: "key", name: "Key", cell: ({ preview }) => <code>{preview}</code> },
    { id: "state", name: "State", cell: ({ status }) => <StateBadge state={status} /> },
    { id: "used", name: "Used", isNumber: true, cell: ({ used }) => <Amount neuron={used} /> },
    { id: "limit", name: "Limit", isNumber: true, cell: (key) => <Limit of={key} /> },
    { id: "lastUsed", name: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { id: "expires", name: "Expires", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      id: "models",
      name: "Models",
      cell: ({ allowedModels }) => (allowedModels.length > 0 ? allowedModels.join(", ") : "all models"),
    },
    { id: "actions", name: "", cell: (key) => <KeyActions of={key} onOpen={onOpen} /> },
  ];
}

function Limit({ of: { creditLimit, resetPeriod } }: { of: Key }) {
  if (!creditLimit) return <span className="quiet">none</span>;
  return (
    <>
      <Amount neuron={creditLimit} />
      {resetPeriod !== "NEVER" && ` ${PERIODS[resetPeriod]}`}
    </>
  );
}

function Dialogs({
  open,
  onOpen,
}: {
  open: OpenDialog<Key> | undefined;
  onOpen(open: OpenDialog<Key> | undefined): void;
}) {
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, revoke] = useMutation(REVOKE);
  return (
    <KeyDialogs
      open={open}
      onOpen={onOpen}
      what="an API key"
      schema={keySchema}
      valuesOf={keyValues}
      fields={(given) => <KeyFields given={given} />}
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
  );
}
