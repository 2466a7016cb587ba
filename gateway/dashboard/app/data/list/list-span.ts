/** A page of a list, as the graph answers it. */
export type Connection<Row> = {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
};

/** The rows of a list from its start to a cursor, without gaps. */
export type Span<Row> = Connection<Row>;

/** Whether the graph answered a page. */
export function isSpan<Page>(connection: Page | null | undefined): connection is Page {
  return connection !== null && connection !== undefined;
}

/**
 * Rows that are known, with the first ones as they are now: new ones are added, changed ones replaced, and those that
 * the list no longer has are left out. If so many are new that the known ones do not follow, or that all are more than
 * `maxRows`, only the first ones are left: a page that stays open would hold more and more.
 */
export function mergeHead<Row>(
  known: Span<Row>,
  head: Connection<Row>,
  keyOf: (row: Row) => string,
  maxRows: number,
): { readonly span: Span<Row>; readonly hasNew: boolean } {
  const fresh = new Set(head.nodes.map(keyOf));
  const before = new Set(known.nodes.map(keyOf));
  const hasNew = head.nodes.some((row) => !before.has(keyOf(row)));
  const last = known.nodes.findLastIndex((row) => fresh.has(keyOf(row)));
  const tail = known.nodes.slice(last + 1);
  const isFull = hasNew && head.nodes.length + tail.length > maxRows;
  if (!head.pageInfo.hasNextPage || last === -1 || isFull)
    return { span: { nodes: head.nodes, pageInfo: head.pageInfo }, hasNew };
  // A head that reaches beyond what is known has the newer cursor.
  const pageInfo = tail.length === 0 ? head.pageInfo : known.pageInfo;
  return { span: { nodes: [...head.nodes, ...tail], pageInfo }, hasNew };
}
