import { useEffect, useState } from "react";
import { type CombinedError, type TypedDocumentNode, useQuery } from "urql";
import { isRefusal } from "./graph.ts";

type Polled<Data> = {
  /** The newest result; the previous one while a read fails, unless it was refused. */
  readonly data: Data | undefined;
  readonly error: CombinedError | undefined;
  readonly fetching: boolean;
  refresh(): void;
};

/** A query that is read again every few milliseconds while the page is visible, and when it becomes visible. */
export function usePolled<Data>(
  query: TypedDocumentNode<Data, Record<string, never>>,
  everyMs: number,
): Polled<Data> {
  const [{ data, error, fetching }, refetch] = useQuery({ query, variables: {} });
  const [last, setLast] = useState<Data>();
  useEffect(() => {
    if (data && !error) setLast(data);
  }, [data, error]);
  useEffect(() => {
    const read = () => {
      if (document.visibilityState === "visible") refetch({ requestPolicy: "network-only" });
    };
    const timer = setInterval(read, everyMs);
    document.addEventListener("visibilitychange", read);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", read);
    };
  }, [refetch, everyMs]);
  const isLost = error !== undefined && !isRefusal(error);
  return {
    data: isLost ? last : data,
    error,
    fetching,
    refresh: () => refetch({ requestPolicy: "network-only" }),
  };
}
