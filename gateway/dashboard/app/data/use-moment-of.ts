import { useState } from "react";

/** When a value was chosen, in milliseconds: when the component first had it, or when it changed last. */
export function useMomentOf(value: unknown): number {
  const [held, setHeld] = useState(() => ({ value, at: Date.now() }));
  if (Object.is(held.value, value)) return held.at;
  const chosen = { value, at: Date.now() };
  setHeld(chosen);
  return chosen.at;
}
