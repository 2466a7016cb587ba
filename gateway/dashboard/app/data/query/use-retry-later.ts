import { useEffect, useRef } from "react";
import { pauseUnreachable } from "./fetch-again.ts";

/**
 * Runs again, after a pause, what failed because the gateway could not be reached; another failure is another object.
 * Queries of `useQuery` are executed again without it.
 */
export function useRetryLater(failure: object | undefined, run: () => void): void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => {
    if (!failure) return;
    const left = new AbortController();
    pauseUnreachable(left.signal).then(
      () => latest.current(),
      () => {},
    );
    return () => left.abort();
  }, [failure]);
}
