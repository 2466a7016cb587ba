import { TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { graphql } from "../../data/graph.ts";
import { useList } from "../../data/use-list.ts";
import { Amount } from "../../parts/amount.tsx";
import type { Column } from "../../parts/column.ts";
import { Hash } from "../../parts/hash.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Page } from "../../parts/page.tsx";
import { Live, StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

const REQUESTS = graphql(`
  query Requests($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    viewer {
      account {
        requests(first: $first, last: $last, after: $after, before: $before) {
          nodes {
            requestId createdAt modelId providerAddress status errorCode inputTokens outputTokens cost { total }
            timing { firstByteMs durationMs } apiKey { name } evidence { verdict }
          }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  }
`);
const MOVED = graphql(`
  subscription RequestsMoved($after: Cursor) { balanceChanged(after: $after) { cursor cause } }
`);
/** Ids are ours, or sent by a client as `X-Request-ID`. */
const ID = /^[A-Za-z0-9._:-]{8,64}$/;

/** All requests, the newest first. */
export function RequestsPage() {
  const [search, setSearch] = useState("");
  // Every request changes the balance twice: when it starts and when it ends.
  const list = useList({
    query: REQUESTS,
    size: 50,
    pick: ({ viewer }) => viewer?.account?.requests,
    changes: MOVED,
  });
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = list.rows?.filter((row) => {
    const { requestId, modelId, providerAddress, status, errorCode, apiKey, evidence } = row;
    const text = [requestId, modelId, providerAddress, status, errorCode, apiKey?.name, evidence?.verdict]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const id = search.trim();
  return (
    <Page
      title="Requests"
      about="Every request with its provider and cost. Prompts and answers are not stored."
      actions={list.liveness && <Live liveness={list.liveness} />}
    >
      <ListTable
        label="Requests"
        list={{ ...list, rows }}
        columns={COLUMNS}
        keyOf={({ requestId }) => requestId}
        link={({ requestId }) => ({ to: "/requests/$id", params: { id: requestId } })}
        canChoose
        csv="requests.csv"
        filters={
          <TextInput
            label="Search this page"
            type="search"
            w={300}
            value={search}
            placeholder="model, provider, key, state, error or id"
            onChange={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        }
        empty={
          words.length > 0 ? (
            <EmptyState title="Nothing on this page matches.">
              {ID.test(id) && (
                <Link to="/requests/$id" params={{ id }}>
                  Search for this ID in all requests
                </Link>
              )}
            </EmptyState>
          ) : (
            <EmptyState title="No requests yet.">
              <Link to="/playground">Make one in the playground.</Link>
            </EmptyState>
          )
        }
      />
    </Page>
  );
}

type Row = {
  readonly requestId: string;
  readonly createdAt: string;
  readonly modelId: string;
  readonly providerAddress: string;
  readonly status: string;
  readonly errorCode: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cost: { readonly total: string } | null;
  readonly timing: { readonly firstByteMs: number | null };
  readonly apiKey: { readonly name: string } | null;
  readonly evidence: { readonly verdict: string } | null;
};

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "when",
    name: "When",
    cell: ({ createdAt }) => <Time at={createdAt} />,
    text: (row) => row.createdAt,
  },
  {
    id: "id",
    name: "ID",
    isHidden: true,
    cell: ({ requestId }) => <Hash of={requestId} withCopy />,
    text: (row) => row.requestId,
  },
  { id: "model", name: "Model", cell: ({ modelId }) => modelId, text: (row) => row.modelId },
  {
    id: "provider",
    name: "Provider",
    cell: ({ providerAddress }) => <Hash of={providerAddress} />,
    text: (row) => row.providerAddress,
  },
  { id: "key", name: "Key", cell: ({ apiKey }) => apiKey?.name, text: (row) => row.apiKey?.name ?? "" },
  {
    id: "state",
    name: "State",
    cell: ({ status, errorCode }) => (
      <>
        <StateBadge state={status} /> {errorCode && <code>{errorCode}</code>}
      </>
    ),
    text: (row) => row.status,
  },
  {
    id: "evidence",
    name: "Evidence",
    cell: ({ evidence }) =>
      evidence ? <StateBadge state={evidence.verdict} /> : <span className="quiet">–</span>,
    text: (row) => row.evidence?.verdict ?? "",
  },
  {
    id: "tokens",
    name: "Tokens",
    isNumber: true,
    cell: ({ inputTokens, outputTokens }) => `${inputTokens ?? "–"} / ${outputTokens ?? "–"}`,
    text: (row) => `${row.inputTokens ?? ""} / ${row.outputTokens ?? ""}`,
  },
  {
    id: "firstByte",
    name: "First byte",
    isNumber: true,
    cell: ({ timing }) => (timing.firstByteMs === null ? "–" : `${timing.firstByteMs} ms`),
    text: (row) => String(row.timing.firstByteMs ?? ""),
  },
  {
    id: "cost",
    name: "Cost",
    isNumber: true,
    cell: ({ cost }) => cost && <Amount neuron={cost.total} places={9} />,
    text: (row) => row.cost?.total ?? "",
  },
];
