import { useEffect, useRef } from "react";

/** Calls back every few milliseconds while the page is visible, and when it becomes visible; null: never. */
export function usePolling(read: () => void, everyMs: number | null): void {
  const latest = useRef(read);
  useEffect(() => {
    latest.current = read;
  });
  useEffect(() => {
    if (everyMs === null) return;
    const readVisible = () => {
      if (document.visibilityState === "visible") latest.current();
    };
    const timer = setInterval(readVisible, everyMs);
    document.addEventListener("visibilitychange", readVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", readVisible);
    };
  }, [everyMs]);
}
