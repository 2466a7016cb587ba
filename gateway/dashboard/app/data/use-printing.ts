import { useSyncExternalStore } from "react";

const PRINT = matchMedia("print");

/** Whether the page is being printed. A component that uses it is rendered again before the browser lays the page out. */
export function usePrinting(): boolean {
  return useSyncExternalStore(subscribe, () => PRINT.matches);
}

function subscribe(listener: () => void): () => void {
  PRINT.addEventListener("change", listener);
  return () => PRINT.removeEventListener("change", listener);
}
