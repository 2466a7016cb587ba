import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useQuery } from "urql";
import type { TypedDocument } from "../../../../../packages/client/src/index.ts";
import type { Live } from "../../../../../packages/client/src/react.ts";
import { useFollowed } from "../query/use-followed.ts";
import { useKept } from "../query/use-kept.ts";
import { useRefresh } from "../query/use-refresh.ts";
import type { Position } from "./list-search.ts";

/** The search parameters of whichever route is shown: its schema has checked them. */
const useAnySearch = useSearch as unknown as (options: { readonly strict: false }) => unknown;

type Connection<Row> = {
  readonly nodes: readonly Row[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly endCursor: string | null;
    readonly hasPreviousPage?: boolean;
    readonly startCursor?: string | null;
  };
};

/** One page of a list, and where to go from it. */
export type List<Row> = {
  /** Undefined until the first answer. */
  readonly rows: readonly Row[] | undefined;
  readonly error: CombinedError | undefined;
  readonly fetching: boolean;
  refetch(): void;
  /** Undefined where there is nothing newer. */
  readonly newer: (() => void) | undefined;
  /** Undefined where there is nothing older. */
  readonly older: (() => void) | undefined;
  /** Whether the list follows its changes; undefined for one that does not. */
  readonly liveness: Pick<Live<unknown>, "state" | "error"> | undefined;
};

type Options<Data, Row> = {
  readonly query: TypedDocumentNode<Data, never> | TypedDocumentNode<Data, AnyVariables>;
  /** The variables besides those of the page: filters and the order. */
  readonly variables?: object;
  /** The connection in the answer. */
  pick(data: Data): Connection<Row> | null | undefined;
  /** How many rows a page has. Default: 20. The graph allows 100. */
  readonly size?: number;
  /** A subscription after whose events the list is queried again, at most every 0.4 s. */
  readonly changes?: TypedDocument<unknown, never> | undefined;
  readonly changeVariables?: object;
  /** Waits with the query. */
  readonly pause?: boolean;
  /** For a second list of a page: its position is not part of the URL. */
  readonly isLocal?: boolean;
  /** For a list that the graph has oldest first: it is read from its end, and shown newest first as the others. */
  readonly isOldestFirst?: boolean;
};

/**
 * A list of the graph by pages. Its query takes `$first: Int, $last: Int, $after: Cursor, $before: Cursor` and reads
 * `pageInfo { hasNextPage endCursor hasPreviousPage startCursor }`. The position is in the search parameters `after` and
 * `before` of the URL, so that Back and a reload work.
 */
export function useList<Data, Row>(options: Options<Data, Row>): List<Row> {
  const { size = 20, pause = false, isLocal = false, isOldestFirst = false } = options;
  const inUrl = useAnySearch({ strict: false }) as Position;
  const navigate = useNavigate();
  const [local, setLocal] = useState<Position>({});
  const { after, before } = isLocal ? local : inUrl;
  const go = useCallback(
    (position: Position, replace = false) => {
      if (isLocal) return setLocal(position);
      const search = (now: object) => ({ ...now, after: undefined, before: undefined, ...position });
      void navigate({ to: ".", search: search as never, replace });
    },
    [isLocal, navigate],
  );
  const isFromEnd = before !== undefined || (isOldestFirst && after === undefined);
  const page = isFromEnd
    ? { last: size, ...(before && { before }) }
    : { first: size, ...(after && { after }) };
  const variables = { ...options.variables, ...page };
  const document = options.query as TypedDocumentNode<Data, AnyVariables>;
  const [{ data, error, fetching }, query] = useQuery({ query: document, variables, pause });
  const refetch = useCallback(() => query({ requestPolicy: "network-only" }), [query]);
  const refresh = useRefresh(refetch);
  const followed = useFollowed(
    (options.changes as TypedDocument<unknown, object> | undefined) ?? null,
    options.changeVariables ?? {},
    { onEvent: refresh, onGap: refresh, keep: 1 },
  );
  // Rows stay while they cannot be read again. An operation that failed as a whole has null as its data.
  const shown = useKept(JSON.stringify(variables), { data: data as object | undefined, error, fetching });
  const connection = shown ? options.pick(shown as Data) : undefined;
  // What a page had may be gone, such as revoked keys: it has no cursor to go on from, and its list may have other pages.
  const isGone = (after ?? before) !== undefined && connection?.nodes.length === 0;
  useEffect(() => {
    if (isGone && !fetching) go({}, true);
  }, [isGone, fetching, go]);
  const nodes = isGone ? undefined : connection?.nodes;
  const rows = useMemo(() => (isOldestFirst ? nodes?.toReversed() : nodes), [isOldestFirst, nodes]);
  const { newer, older } = neighboursOf({ after, before }, connection?.pageInfo, isOldestFirst);
  return {
    rows,
    error,
    fetching,
    refetch,
    newer: newer && (() => go(newer)),
    older: older && (() => go(older)),
    liveness: options.changes ? followed : undefined,
  };
}

/** The positions of the newer and the older page; undefined where there is none. */
function neighboursOf(
  { after, before }: Position,
  info: Connection<unknown>["pageInfo"] | undefined,
  isOldestFirst: boolean,
): { readonly newer: Position | undefined; readonly older: Position | undefined } {
  const { hasNextPage, endCursor, hasPreviousPage, startCursor } = info ?? {};
  // A page that was reached in one direction has rows in the other, whatever the graph says of it.
  const hasBefore = after ? true : before || isOldestFirst ? hasPreviousPage : false;
  const hasAfter = before ? true : !isOldestFirst || after ? hasNextPage : false;
  const previous = hasBefore && startCursor ? { before: startCursor } : undefined;
  const next = hasAfter && endCursor ? { after: endCursor } : undefined;
  const newest = (isOldestFirst ? before : after) ? {} : undefined;
  return isOldestFirst
    ? { newer: next ?? newest, older: previous }
    : { newer: previous ?? newest, older: next };
}

/**
 * The filters and the order in the URL of a page: each change begins at the start of the list again. The position of a
 * list that `isEndless` is `after` alone: there, `before` may be a filter.
 */
export function useFilters<Search extends object>({
  isEndless = false,
}: {
  readonly isEndless?: boolean;
} = {}): readonly [Search, (change: Partial<Search>) => void] {
  const search = useAnySearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (fields: Partial<Search>) => {
    const start = { after: undefined, ...(!isEndless && { before: undefined }) };
    const next = (now: object) => ({ ...now, ...start, ...fields });
    void navigate({ to: ".", search: next as never, replace: true });
  };
  return [search, change];
}
