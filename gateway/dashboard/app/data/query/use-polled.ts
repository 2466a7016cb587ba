import { useEffect, useState } from "react";
import { type CombinedError, type TypedDocumentNode, useQuery } from "urql";
import { isRefusal } from "./graph.ts";
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
  const [last, setLast] = useState<Data>();
  useEffect(() => {
    if (data && !error) setLast(data);
  }, [data, error]);
  const refresh = () => refetch({ requestPolicy: "network-only" });
  usePolling(refresh, everyMs);
  // An answer that lacks a part is shown: the rest of it is newer.
  const isLost = error !== undefined && !isRefusal(error) && !hasAny(data);
  return {
    data: isLost ? last : data,
    error,
    fetching,
    refresh,
  };
}

function hasAny(data: object | null | undefined): boolean {
  return Object.values(data ?? {}).some((value) => value !== null);
}
