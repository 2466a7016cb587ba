import { useEffect, useRef } from "react";

const EVERY_MS = 1_500;

/**
 * Asks anew when something has happened: at once, then no more than once in a while however much happens, and once more
 * behind the last, for what is written beside it (an answer's evidence).
 */
export function useRefresh(ask: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isNeeded = useRef(false);
  const latest = useRef(ask);
  latest.current = ask;
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
