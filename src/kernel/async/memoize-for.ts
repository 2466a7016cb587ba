import type { Clock } from "../clock.ts";

/** Caches the result of `load` for `forMs`, and shares one pending call; a failure is not cached. */
export function memoizeFor<T>(clock: Clock, forMs: number, load: () => Promise<T>): () => Promise<T> {
  let last: { readonly result: Promise<T>; readonly startedMs: number } | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (last && now - last.startedMs < forMs) return last.result;
    const call = { result: load(), startedMs: now };
    last = call;
    call.result.catch(() => {
      if (last === call) last = undefined;
    });
    return call.result;
  };
}
