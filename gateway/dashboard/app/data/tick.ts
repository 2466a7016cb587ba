/** All times are brought up to date together, and no more often than their words change. */
const EVERY_MS = 15_000;
const readers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let tick = 0;

/** Calls back every 15 s, until the returned function is called. For `useSyncExternalStore`. */
export function onTick(reader: () => void): () => void {
  readers.add(reader);
  timer ??= setInterval(() => {
    tick++;
    for (const read of readers) read();
  }, EVERY_MS);
  return () => {
    readers.delete(reader);
    if (readers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Another number after each tick. */
export function readTick(): number {
  return tick;
}
