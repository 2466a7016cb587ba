import { useEffect, useState } from "react";
import type { CombinedError } from "urql";
import { isRefusal } from "./graph.ts";

type Read<Data> = {
  readonly data: Data | undefined;
  readonly error: CombinedError | undefined;
  readonly fetching: boolean;
};

/**
 * The newest answer to a query; the previous one of the same `key` while a read fails, unless it was refused. An answer
 * that lacks a part is shown: the rest of it is newer.
 */
export function useKept<Data extends object>(
  key: string,
  { data, error, fetching }: Read<Data>,
): Data | undefined {
  const [last, setLast] = useState<{ readonly key: string; readonly data: Data }>();
  useEffect(() => {
    if (error && isRefusal(error)) setLast(undefined);
    else if (data && !error && !fetching) setLast({ key, data });
  }, [key, data, error, fetching]);
  const isLost = error !== undefined && !isRefusal(error) && !hasAny(data);
  return isLost && last?.key === key ? last.data : data;
}

function hasAny(data: object | null | undefined): boolean {
  return Object.values(data ?? {}).some((value) => value !== null);
}
