import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { toNeuron } from "../../data/amounts.ts";
import { useEndlessList } from "../../data/list/use-endless-list.ts";
import { useFilters } from "../../data/list/use-list.ts";
import { reader } from "../../data/query/graph.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { useMomentOf } from "../../data/use-moment-of.ts";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import { CsvExport } from "../../parts/table/csv-export.tsx";
import { DataTable } from "../../parts/table/data-table.tsx";
import { ListEnd } from "../../parts/table/list-end.tsx";
import { Live } from "../../parts/value/state-badge.tsx";
import { requestColumns } from "./request-columns.tsx";
import { RequestFilters } from "./request-filters.tsx";
import { FILTERS, type RequestSearch, variablesOf } from "./request-search.ts";
import { REQUESTS, REQUESTS_MOVED } from "./requests-query.ts";
import "./requests.css";

/** The requests that match the filters of the URL, read on as one scrolls. */
export function RequestsPage() {
  const [search, filter] = useFilters<RequestSearch>({ isEndless: true });
  const chosenAt = useMomentOf(search.range);
  const variables = useMemo(() => variablesOf(search, chosenAt, toNeuron), [search, chosenAt]);
  const list = useEndlessList({
    query: REQUESTS,
    variables,
    after: search.after,
    pick: ({ viewer }) => viewer?.account?.requests,
    keyOf: ({ requestId }) => requestId,
    changes: REQUESTS_MOVED,
  });
  const { symbol } = useNetwork();
  const columns = useMemo(() => requestColumns(symbol), [symbol]);
  const isFiltered = FILTERS.some((name) => search[name] !== undefined);
  return (
    <Page
      title="Requests"
      about="Every request, with its tokens and its cost. Prompts and answers are not stored."
      actions={
        <>
          {list.hasNewer && (
            <Button size="xs" onClick={list.showNewer}>
              Show new requests
            </Button>
          )}
          {list.liveness && <Live liveness={list.liveness} />}
        </>
      }
    >
      <DataTable
        label="Requests"
        rows={list.rows}
        error={list.error}
        onRetry={list.refetch}
        columns={columns}
        keyOf={({ requestId }) => requestId}
        link={({ requestId }) => ({ to: "/requests/$id", params: { id: requestId } })}
        sort={search.sort ?? "-CREATED"}
        onSort={(sort) => filter({ sort: sort === "-CREATED" ? undefined : sort })}
        onEnd={list.more ?? (() => {})}
        onTop={list.setAtTop}
        canChoose
        tools={
          <CsvExport
            file="requests.csv"
            columns={columns}
            disabled={!list.rows || list.rows.length === 0}
            read={(after, signal) => readPage({ ...variables, ...(after && { after }) }, signal)}
          />
        }
        filters={<RequestFilters search={search} onFilter={filter} />}
        empty={
          isFiltered ? (
            <EmptyState title="No request matches.">
              <p>Change or clear the filters.</p>
            </EmptyState>
          ) : (
            <EmptyState title="No requests yet.">
              <Link to="/playground">Make one in the playground.</Link>
            </EmptyState>
          )
        }
      />
      <ListEnd list={list} what={["request", "requests"]} />
    </Page>
  );
}

/** As many as the cost of one operation allows. */
const PAGE_ROWS = 80;

/** One page for the file: of the same list, from its start. */
async function readPage(variables: ReturnType<typeof variablesOf> & { after?: string }, signal: AbortSignal) {
  const { data, error } = await reader
    .query(
      REQUESTS,
      { ...variables, first: PAGE_ROWS, isFirst: false },
      { fetchOptions: { credentials: "same-origin", signal } },
    )
    .toPromise();
  const page = data?.viewer?.account?.requests;
  if (!page) throw error ?? new Error("The requests could not be read.");
  const { hasNextPage, endCursor } = page.pageInfo;
  return { rows: page.nodes, next: hasNextPage && endCursor !== null ? endCursor : undefined };
}
