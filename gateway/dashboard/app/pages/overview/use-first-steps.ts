import { useState } from "react";
import { useSession } from "../../data/session.tsx";

/** What the browser keeps of an account's first steps: those that the server does not know. */
type Kept = { readonly isShown?: boolean; readonly hasSubscribed?: boolean; readonly isDismissed?: boolean };

/** The first steps of the account that is signed in, as kept in this browser. */
export function useFirstSteps(): readonly [Kept, (change: Kept) => void] {
  const { address } = useSession();
  const name = `zerograph-first-steps:${address}`;
  const [kept, setKept] = useState<Kept>(() => read(name));
  const change = (fields: Kept) => {
    const next = { ...read(name), ...fields };
    setKept(next);
    try {
      localStorage.setItem(name, JSON.stringify(next));
    } catch {
      // The browser keeps nothing: the steps hold until the page is left.
    }
  };
  return [kept, change];
}

function read(name: string): Kept {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(name) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Kept) : {};
  } catch {
    return {};
  }
}
