/** How long to wait for one answer before another is asked beside it, and for any at all, milliseconds. */
export type HedgeTimes = { readonly hedgeMs: number; readonly deadlineMs: number };

/**
 * Asks candidates one after the other: the next one at once when one fails, and beside it when one takes longer than
 * `hedgeMs`. Resolves with the first answer and gives up the others; rejects with the last failure when all failed or
 * the deadline passed, or at once with the reason of `signal`.
 */
export async function hedged<Candidate, Answer>(
  candidates: readonly Candidate[],
  ask: (candidate: Candidate, signal: AbortSignal) => Promise<Answer>,
  { hedgeMs, deadlineMs, signal }: HedgeTimes & { readonly signal?: AbortSignal | undefined },
): Promise<Answer> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const giveUp = new AbortController();
  let lastFailure: unknown = new Error("there is nobody to ask");
  let [next, open] = [0, 0];
  let hedge: NodeJS.Timeout | undefined;
  const askNext = () => {
    clearTimeout(hedge);
    const candidate = candidates[next++];
    if (candidate === undefined) {
      if (open === 0) reject(lastFailure);
      return;
    }
    open++;
    hedge = setTimeout(askNext, hedgeMs);
    ask(candidate, giveUp.signal).then(resolve, (error: unknown) => {
      open--;
      lastFailure = error;
      if (!giveUp.signal.aborted) askNext();
    });
  };
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const deadline = setTimeout(() => reject(lastFailure), deadlineMs);
  askNext();
  try {
    return await promise;
  } finally {
    giveUp.abort();
    clearTimeout(hedge);
    clearTimeout(deadline);
    signal?.removeEventListener("abort", onAbort);
  }
}
