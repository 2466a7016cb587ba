import { useCallback, useEffect, useRef } from "react";

const EVERY_MS = 400;
/** Evidence of a response is written shortly after the event of its charge. */
const LAST_MS = 1_500;

/**
 * Refetches after an event: at once, then at most once per interval however many events arrive, and once more a while
 * after the last event, for data written shortly after it.
 */
export function useRefresh(refetch: () => void, everyMs = EVERY_MS): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isNeeded = useRef(false);
  const latest = useRef(refetch);
  useEffect(() => {
    latest.current = refetch;
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      clearTimeout(last.current);
    },
    [],
  );
  return useCallback(() => {
    clearTimeout(last.current);
    last.current = setTimeout(() => latest.current(), LAST_MS);
    if (timer.current !== undefined) {
      isNeeded.current = true;
      return;
    }
    const next = () => {
      timer.current = undefined;
      if (!isNeeded.current) return;
      isNeeded.current = false;
      latest.current();
      timer.current = setTimeout(next, everyMs);
    };
    latest.current();
    timer.current = setTimeout(next, everyMs);
  }, [everyMs]);
}
