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
 * the list no longer has are left out. If so many are new that the known ones do not follow, only the new ones are left.
 */
export function mergeHead<Row>(
  known: Span<Row>,
  head: Connection<Row>,
  keyOf: (row: Row) => string,
): { readonly span: Span<Row>; readonly hasNew: boolean } {
  const fresh = new Set(head.nodes.map(keyOf));
  const before = new Set(known.nodes.map(keyOf));
  const hasNew = head.nodes.some((row) => !before.has(keyOf(row)));
  const last = known.nodes.findLastIndex((row) => fresh.has(keyOf(row)));
  if (!head.pageInfo.hasNextPage || last === -1)
    return { span: { nodes: head.nodes, pageInfo: head.pageInfo }, hasNew };
  const tail = known.nodes.slice(last + 1);
  // A head that reaches beyond what is known has the newer cursor.
  const pageInfo = tail.length === 0 ? head.pageInfo : known.pageInfo;
  return { span: { nodes: [...head.nodes, ...tail], pageInfo }, hasNew };
}
