import { type CombinedError, type TypedDocumentNode, useQuery } from "urql";
import { useKept } from "./use-kept.ts";
import { usePolling } from "./use-polling.ts";

type Polled<Data> = {
  /** The newest result; the previous one while a read fails, unless it was refused. */
  readonly data: Data | undefined;
  readonly error: CombinedError | undefined;
  readonly fetching: boolean;
  refresh(): void;
};

/** A query that is read again every few milliseconds while the page is visible, and when it becomes visible. */
export function usePolled<Data extends object>(
  query: TypedDocumentNode<Data, Record<string, never>>,
  everyMs: number,
): Polled<Data> {
  const [{ data, error, fetching }, refetch] = useQuery({ query, variables: {} });
  const refresh = () => refetch({ requestPolicy: "network-only" });
  usePolling(refresh, everyMs);
  return { data: useKept("", { data, error, fetching }), error, fetching, refresh };
}
