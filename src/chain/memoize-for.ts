import type { Clock } from "../kernel/clock.ts";

/** Asks once for what changes rarely, and keeps the answer for `forMs`; a failure is not kept. */
export function memoizeFor<T>(clock: Clock, forMs: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly answer: Promise<T>; readonly askedMs: number } | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (last && now - last.askedMs < forMs) return last.answer;
    const asked = { answer: ask(), askedMs: now };
    last = asked;
    asked.answer.catch(() => {
      if (last === asked) last = undefined;
    });
    return asked.answer;
  };
}
