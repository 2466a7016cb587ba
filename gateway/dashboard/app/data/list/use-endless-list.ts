import { useCallback, useEffect, useReducer, useRef } from "react";
import type { AnyVariables, CombinedError, TypedDocumentNode } from "urql";
import type { TypedDocument } from "../../../../../packages/client/src/index.ts";
import { isUnreachable, reader } from "../query/graph.ts";
import { useFollowed } from "../query/use-followed.ts";
import { useRefresh } from "../query/use-refresh.ts";
import { useRetryLater } from "../query/use-retry-later.ts";
import { type Connection, isSpan, mergeHead, type Span } from "./list-span.ts";
import type { List } from "./use-list.ts";

/** A list that is read on as one scrolls. */
export type EndlessList<Row> = Pick<List<Row>, "rows" | "error" | "fetching" | "refetch" | "liveness"> & {
  /** Reads the next rows; undefined at the end of the list, and when as many are shown as may be. */
  readonly more: (() => void) | undefined;
  /** Where the list goes on when no more are shown: for a page that begins there. */
  readonly rest: string | undefined;
  /** How many rows the whole list has, when it was read first. */
  readonly total: { readonly count: number; readonly isEstimate: boolean } | undefined;
  /** Whether newer rows wait until the reader is at the top again. */
  readonly hasNewer: boolean;
  /** Shows the newer rows that wait. */
  showNewer(): void;
  /** Says whether the reader is at the top, so that rows may move. */
  setAtTop(isAtTop: boolean): void;
};

type Counted<Row> = Connection<Row> & {
  readonly totalCount?: number | null | undefined;
  readonly totalCountEstimated?: boolean | null | undefined;
};

type Options<Data, Row> = {
  /** Takes `$first: Int, $after: Cursor, $isFirst: Boolean!`, besides its filters; counts the list if `isFirst`. */
  readonly query: TypedDocumentNode<Data, never> | TypedDocumentNode<Data, AnyVariables>;
  readonly variables: object;
  pick(data: Data): Counted<Row> | null | undefined;
  keyOf(row: Row): string;
  /** Where the list begins; it is not live then. */
  readonly after?: string | undefined;
  /** A subscription after whose events the first rows are read again, at most every 0.4 s. */
  readonly changes: TypedDocument<unknown, never>;
};

/** As many as the cost of one operation allows. */
const PAGE_ROWS = 80;
/** More rows are on further pages: the browser holds no more. */
export const MAX_ROWS = 10_000;

type State<Row> = {
  /** Of which filters the rows are. */
  readonly key: string;
  readonly span: Span<Row> | undefined;
  readonly waiting: Span<Row> | undefined;
  readonly total: EndlessList<Row>["total"];
  readonly error: CombinedError | undefined;
  readonly fetching: boolean;
};

/**
 * A list of the graph that is read on while one scrolls, up to `MAX_ROWS` rows. Its first rows follow the changes; while
 * the reader is further down, they wait, so that nothing moves.
 */
export function useEndlessList<Data, Row>(options: Options<Data, Row>): EndlessList<Row> {
  const { query, variables, after, changes } = options;
  const key = JSON.stringify([variables, after]);
  const [state, set] = useReducer(
    (now: State<Row>, change: Partial<State<Row>>): State<Row> => ({ ...now, ...change }),
    { key, span: undefined, waiting: undefined, total: undefined, error: undefined, fetching: true },
  );
  const latest = useRef({ options, state, key });
  useEffect(() => {
    latest.current = { options, state, key };
  });
  const isAtTop = useRef(true);
  const isReading = useRef<string>(undefined);

  const read = useCallback(
    async (from: string | undefined, isFirst: boolean) => {
      const { options } = latest.current;
      const page = { first: PAGE_ROWS, isFirst, ...(from !== undefined && { after: from }) };
      const { data, error } = await reader
        .query(query as TypedDocumentNode<Data, AnyVariables>, { ...options.variables, ...page })
        .toPromise();
      return { connection: data ? options.pick(data) : undefined, error };
    },
    [query],
  );

  const begin = useCallback(async () => {
    const { key, options } = latest.current;
    isReading.current = key;
    set({ key, fetching: true, error: undefined, waiting: undefined });
    const { connection, error } = await read(options.after, true);
    if (latest.current.key !== key) return;
    isReading.current = undefined;
    if (!isSpan(connection)) return set({ error, fetching: false });
    const { totalCount, totalCountEstimated } = connection;
    const total =
      totalCount == null ? undefined : { count: totalCount, isEstimate: totalCountEstimated ?? false };
    set({ span: connection, total, fetching: false, error });
  }, [read]);

  useEffect(() => {
    set({ key, span: undefined, waiting: undefined, total: undefined });
    latest.current.key = key;
    void begin();
  }, [key, begin]);

  useRetryLater(!state.span && isUnreachable(state.error) ? state.error : undefined, begin);

  const more = useCallback(async () => {
    const { state, key } = latest.current;
    const from = state.span?.pageInfo.endCursor;
    if (isReading.current === key || !state.span?.pageInfo.hasNextPage || !from) return;
    isReading.current = key;
    set({ fetching: true });
    const { connection, error } = await read(from, false);
    if (latest.current.key !== key) return;
    isReading.current = undefined;
    const { span } = latest.current.state;
    if (!isSpan(connection) || !span || span.pageInfo.endCursor !== from)
      return set({ error, fetching: false });
    const known = new Set(span.nodes.map(latest.current.options.keyOf));
    const added = connection.nodes.filter((row) => !known.has(latest.current.options.keyOf(row)));
    const nodes = [...span.nodes, ...added];
    set({ span: { nodes, pageInfo: connection.pageInfo }, fetching: false, error });
  }, [read]);

  const refreshHead = useRefresh(async () => {
    const { key, state } = latest.current;
    if (!state.span) return;
    const { connection } = await read(undefined, false);
    const { state: now, key: shown, options } = latest.current;
    if (shown !== key || !isSpan(connection) || !now.span) return;
    const merged = mergeHead(now.span, connection, options.keyOf, MAX_ROWS);
    if (isAtTop.current || !merged.hasNew) set({ span: merged.span, waiting: undefined });
    else set({ waiting: connection });
  });
  const followed = useFollowed(
    (after === undefined ? changes : null) as TypedDocument<unknown, object> | null,
    {},
    {
      onEvent: refreshHead,
      onGap: refreshHead,
      keep: 1,
    },
  );

  const showNewer = useCallback(() => {
    const { state, options } = latest.current;
    if (!state.waiting || !state.span) return;
    const { span } = mergeHead(state.span, state.waiting, options.keyOf, MAX_ROWS);
    set({ span, waiting: undefined });
  }, []);
  const setAtTop = useCallback(
    (isTop: boolean) => {
      isAtTop.current = isTop;
      if (isTop) showNewer();
    },
    [showNewer],
  );
  const span = state.key === key ? state.span : undefined;
  const isFull = (span?.nodes.length ?? 0) >= MAX_ROWS;
  const hasMore = span?.pageInfo.hasNextPage ?? false;
  return {
    rows: span?.nodes,
    error: state.error,
    fetching: state.fetching,
    refetch: () => void begin(),
    more: hasMore && !isFull ? () => void more() : undefined,
    rest: hasMore && isFull ? (span?.pageInfo.endCursor ?? undefined) : undefined,
    total: state.total,
    hasNewer: state.waiting !== undefined,
    showNewer,
    setAtTop,
    liveness: after === undefined ? followed : undefined,
  };
}
