import { useState } from "react";

const NAME = "zerograph-first-steps";

/** What the browser keeps of the first steps: what the server does not know. It does not name the account. */
type Kept = { readonly isShown?: boolean; readonly hasSubscribed?: boolean; readonly isDismissed?: boolean };

/** The first steps, as kept in this browser. */
export function useFirstSteps(): readonly [Kept, (change: Kept) => void] {
  const [kept, setKept] = useState<Kept>(read);
  const change = (fields: Kept) => {
    const next = { ...read(), ...fields };
    setKept(next);
    try {
      localStorage.setItem(NAME, JSON.stringify(next));
    } catch {
      // The browser keeps nothing: the steps hold until the page is left.
    }
  };
  return [kept, change];
}

function read(): Kept {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Kept) : {};
  } catch {
    return {};
  }
}
