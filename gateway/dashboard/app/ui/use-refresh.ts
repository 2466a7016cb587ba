import { useEffect, useRef } from "react";

const EVERY_MS = 1_500;

/**
 * Refetches after an event: at once, then at most once per interval however many events arrive, and once more after
 * the last event, for data written shortly after it (a response's evidence).
 */
export function useRefresh(refetch: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isNeeded = useRef(false);
  const latest = useRef(refetch);
  latest.current = refetch;
  useEffect(() => () => clearTimeout(timer.current), []);
  const later = () => {
    latest.current();
    timer.current = isNeeded.current ? setTimeout(later, EVERY_MS) : undefined;
    isNeeded.current = false;
  };
  return () => {
    if (timer.current !== undefined) {
      isNeeded.current = true;
      return;
    }
    latest.current();
    timer.current = setTimeout(later, EVERY_MS);
  };
}
