import { useCallback, useEffect, useRef, useState } from "react";
import type { AnyVariables, CombinedError, OperationResult, RequestPolicy, TypedDocumentNode } from "urql";
import { client, isUnreachable } from "../query/graph.ts";
import { useRetryLater } from "../query/use-retry-later.ts";
import type { Connection } from "./list-span.ts";

/** A list of more pages is cut. */
const MAX_PAGES = 10;

/** A list that is read to its end. Its query takes `$after: Cursor`. */
type Whole<Data, Row> = {
  readonly query: TypedDocumentNode<Data, never> | TypedDocumentNode<Data, AnyVariables>;
  pick(data: Data): Connection<Row> | null | undefined;
};
type Rows<Row> = { readonly rows: readonly Row[]; readonly isCut: boolean };

/** Every row of a list, page by page, of at most ten pages. Throws the error of the graph. */
export async function readWhole<Data, Row>(
  { query, pick }: Whole<Data, Row>,
  requestPolicy: RequestPolicy = "network-only",
): Promise<Rows<Row>> {
  const document = query as TypedDocumentNode<Data, AnyVariables>;
  const rows: Row[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const read: OperationResult<Data> = await client
      .query(document, { after }, { requestPolicy })
      .toPromise();
    const connection: Connection<Row> | null | undefined = read.data && pick(read.data);
    if (!connection) throw read.error;
    rows.push(...connection.nodes);
    after = connection.pageInfo.endCursor;
    if (!connection.pageInfo.hasNextPage) return { rows, isCut: false };
  }
  return { rows, isCut: true };
}

/** `readWhole` for a component: again after a while if the gateway cannot be reached, or by `load`. */
export function useWhole<Data, Row>(whole: Whole<Data, Row>) {
  const [read, setRead] = useState<Rows<Row>>();
  const [error, setError] = useState<CombinedError>();
  const latest = useRef(whole);
  useEffect(() => {
    latest.current = whole;
  });
  const load = useCallback(() => {
    setError(undefined);
    readWhole(latest.current).then(setRead, (reason: CombinedError) => setError(reason));
  }, []);
  useEffect(load, [load]);
  useRetryLater(isUnreachable(error) ? error : undefined, load);
  return { rows: read?.rows, isCut: read?.isCut ?? false, error, load };
}
