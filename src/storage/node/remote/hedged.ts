/** How long to wait for one candidate before also querying the next, and for any answer at all, milliseconds. */
export type HedgeTimes = { readonly hedgeMs: number; readonly deadlineMs: number };

/**
 * Queries candidates in order: the next one at once when one fails, or in parallel when one takes longer than
 * `hedgeMs`. Resolves with the first answer and aborts the others; rejects with the last failure when all failed or the
 * deadline passed, or at once with the reason of `signal`.
 */
export async function hedged<Candidate, Answer>(
  candidates: readonly Candidate[],
  query: (candidate: Candidate, signal: AbortSignal) => Promise<Answer>,
  { hedgeMs, deadlineMs, signal }: HedgeTimes & { readonly signal?: AbortSignal | undefined },
): Promise<Answer> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const abandon = new AbortController();
  let lastFailure: unknown = new Error("there are no candidates");
  let [next, open] = [0, 0];
  let hedge: NodeJS.Timeout | undefined;
  const queryNext = () => {
    clearTimeout(hedge);
    const candidate = candidates[next++];
    if (candidate === undefined) {
      if (open === 0) reject(lastFailure);
      return;
    }
    open++;
    hedge = setTimeout(queryNext, hedgeMs);
    query(candidate, abandon.signal).then(resolve, (error: unknown) => {
      open--;
      lastFailure = error;
      if (!abandon.signal.aborted) queryNext();
    });
  };
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const deadline = setTimeout(() => reject(lastFailure), deadlineMs);
  queryNext();
  try {
    return await promise;
  } finally {
    abandon.abort();
    clearTimeout(hedge);
    clearTimeout(deadline);
    signal?.removeEventListener("abort", onAbort);
  }
}
