import { Button, Checkbox } from "@mantine/core";
import Plus from "lucide-react/icons/plus";
import { useMemo, useState } from "react";
import { useMutation, useQuery } from "urql";
import { toChartValue, toTokens } from "../../data/amounts.ts";
import { useFilters, useList } from "../../data/list/use-list.ts";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { Sparkline } from "../../parts/chart/sparkline.tsx";
import { SpendBar } from "../../parts/chart/spend-bar.tsx";
import { callSnippets } from "../../parts/code/call-snippets.ts";
import { CodeSnippet } from "../../parts/code/code-snippet.tsx";
import { KeyActions, KeyDialogs, type OpenDialog } from "../../parts/form/key-dialogs.tsx";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState, Note } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { Live, Pill, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { keyChanges } from "./key-changes.ts";
import { type Key, KeyFields, keySchema, keyValues, PERIODS } from "./key-fields.tsx";
import { KeyRules } from "./key-rules.tsx";
import { type KeySpend, SPEND_DAYS, type SpendOf, useKeySpend } from "./key-spend.ts";
import "./keys.css";

const KEYS = graphql(`
  query ApiKeys($filter: ApiKeyFilterInput, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    viewer {
      account {
        apiKeys(filter: $filter, first: $first, last: $last, after: $after, before: $before) {
          nodes {
            id keyId name preview status createdAt lastUsedAt expiresAt creditLimit used resetPeriod allowedModels
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
    isOldestFirst: true,
  });
  const spendOf = useKeySpend(list.rows);
  const [open, setOpen] = useState<OpenDialog<Key>>();
  const { symbol } = useNetwork();
  const columns = useMemo(() => columnsOf(setOpen, { spendOf, symbol }), [spendOf, symbol]);
  const make = () => setOpen({ kind: "create" });
  return (
    <Page
      title="API keys"
      about="API keys let your apps call models and spend this balance, within limits you set."
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
        columns={columns}
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

type Row = Key & {
  readonly keyId: string;
  readonly used: string;
  readonly lastUsedAt: string | null;
};

function columnsOf(
  onOpen: (open: OpenDialog<Key>) => void,
  { spendOf, symbol }: { readonly spendOf: SpendOf; readonly symbol: string },
): readonly Column<Row>[] {
  return [
    {
      id: "name",
      name: "Name",
      cell: ({ name, preview }) => (
        <span className="two-lines user-text">
          <strong>{name}</strong>
          <small>
            <code>{preview}</code>
          </small>
        </span>
      ),
    },
    { id: "state", name: "State", cell: ({ status }) => <StateBadge state={status} /> },
    {
      id: "spend",
      name: `Last ${SPEND_DAYS} days`,
      cell: (key) => <Spend of={key} spend={spendOf(key)} />,
    },
    { id: "limit", name: `Spent / limit, ${symbol}`, cell: (key) => <Limit of={key} /> },
    { id: "lastUsed", name: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { id: "expires", name: "Expires", cell: (key) => <Expiry of={key} /> },
    { id: "models", name: "Rules", cell: (key) => <KeyRules of={key} /> },
    { id: "actions", name: "", cell: (key) => <KeyActions of={key} onOpen={onOpen} /> },
  ];
}

/** What a key spent by day; for a limit of a day, with the limit as a line. */
function Spend({
  of: { creditLimit, resetPeriod },
  spend,
}: {
  of: Row;
  /** Undefined until it is known. */
  spend: KeySpend | undefined;
}) {
  const { symbol } = useNetwork();
  if (!spend) return null;
  const isDaily = creditLimit !== null && resetPeriod === "DAILY";
  return (
    <Sparkline
      days={spend.days}
      label={`${toTokens(spend.total, 6)} ${symbol} in ${SPEND_DAYS} days`}
      limit={isDaily ? toChartValue(creditLimit) : undefined}
      most={spend.most > 0n ? toTokens(spend.most, 6) : undefined}
    />
  );
}

function Limit({ of: { name, creditLimit, resetPeriod, used } }: { of: Row }) {
  if (!creditLimit)
    return (
      <span className="two-lines">
        <span>
          <Amount neuron={used} places={4} isCell /> / no limit
        </span>
      </span>
    );
  return (
    <span className="key-limit">
      <SpendBar of={{ used, limit: creditLimit }} what={name} />
      <small>
        <Amount neuron={used} places={4} isCell /> / <Amount neuron={creditLimit} places={4} />
        {resetPeriod !== "NEVER" && `, resets ${PERIODS[resetPeriod]}`}
      </small>
    </span>
  );
}

const SOON_MS = 7 * 86_400_000;

/** When a key expires, or expired; marked when it is soon. */
function Expiry({ of: { expiresAt, status } }: { of: Key }) {
  if (!expiresAt) return <Time at={null} />;
  const isSoon = status === "ACTIVE" && Date.parse(expiresAt) - Date.now() < SOON_MS;
  return isSoon ? (
    <Pill tone="busy">
      <Time at={expiresAt} />
    </Pill>
  ) : (
    <Time at={expiresAt} />
  );
}

const CHAT_MODEL = graphql(
  "query SnippetModel { models(first: 1, filter: { serviceTypes: [CHATBOT] }) { nodes { modelId } } }",
);

/** How to use a new key: the code has it. */
function Use({ secret }: { secret: string }) {
  const [{ data }] = useQuery({ query: CHAT_MODEL });
  const model = data?.models?.nodes[0]?.modelId ?? "MODEL";
  const call = { origin: location.origin, secret, model, serviceType: "CHATBOT" };
  return (
    <>
      <Note>Your first call. The code has the key in it: keep it on your server, never in a page.</Note>
      <CodeSnippet label="First call" snippets={callSnippets(call)} />
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
      update={async ({ id }, changes) => {
        const done = await update({ input: { id, ...keyChanges(changes) } });
        resultOf(done.data?.updateApiKey, done.error);
      }}
      revoke={async ({ id }) => {
        const done = await revoke({ input: { id } });
        resultOf(done.data?.revokeApiKey, done.error);
      }}
      use={(secret) => <Use secret={secret} />}
      consequence={({ preview }) => (
        <>
          <p>
            Every client that uses <code>{preview}</code> is refused from its next request on. This cannot be
            undone: a new key has another secret.
          </p>
          <ul>
            <li>Requests that are being answered are answered to their end, and billed.</li>
            <li>Batches created with it end: their remaining requests are not sent, nor billed.</li>
            <li>Its requests stay in the list of requests, and its charges in the ledger.</li>
          </ul>
        </>
      )}
    />
  );
}
