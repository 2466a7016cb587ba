import { useMemo } from "react";
import { useSession } from "../../data/session/session.tsx";
import { PAGES } from "./pages.ts";

/** The pages that are for this account, in the order of the navigation. */
export function usePages(): readonly (typeof PAGES)[number][] {
  const { isOperator } = useSession();
  return useMemo(
    () => PAGES.filter((page) => isOperator || !("isForOperators" in page && page.isForOperators)),
    [isOperator],
  );
}
