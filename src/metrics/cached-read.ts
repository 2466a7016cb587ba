/**
 * Reads at most once per `maxAgeMs`, however often and concurrently it is called; a failed read is not kept. Scrapes of
 * several servers then cost the database or the chain one read.
 */
export function cachedRead<Value>(read: () => Promise<Value>, maxAgeMs: number): () => Promise<Value> {
  let kept: { readonly value: Promise<Value>; readonly readAtMs: number } | undefined;
  return () => {
    const nowMs = performance.now();
    if (kept && nowMs - kept.readAtMs < maxAgeMs) return kept.value;
    const current = { value: read(), readAtMs: nowMs };
    kept = current;
    current.value.catch(() => {
      if (kept === current) kept = undefined;
    });
    return current.value;
  };
}
