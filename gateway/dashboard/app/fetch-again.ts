const MAX_PAUSE_MS = 15_000;

/** How long to wait before the nth try in a row, milliseconds. */
export function pauseMs(failures: number): number {
  return Math.min(1_000 * 2 ** failures, MAX_PAUSE_MS) * (0.75 + Math.random() / 2);
}

/** Resolves after a pause, or as soon as the browser is back on the network. Rejects when `signal` is aborted. */
export function pause(failures: number, signal?: AbortSignal | null): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, pauseMs(failures));
  const onOnline = () => resolve();
  const onAbort = () => reject(signal?.reason);
  addEventListener("online", onOnline, { once: true });
  signal?.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    removeEventListener("online", onOnline);
    signal?.removeEventListener("abort", onAbort);
  });
}

const MAX_TRIES = 4;

/**
 * Fetches, and retries while the network is away. Mutations are not retried: they may have arrived.
 */
export async function fetchAgain(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const isMutation = /"query":"(?:\s|\\n)*mutation\b/.test(String(init?.body));
  for (let tries = 1; ; tries++)
    try {
      return await fetch(input, init);
    } catch (error) {
      if (isMutation || tries === MAX_TRIES || init?.signal?.aborted) throw error;
      await pause(tries - 1, init?.signal);
    }
}

/** Loads a part of the program, and again while the network is away. */
export async function loadAgain<T>(load: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await load();
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      await pause(tries - 1);
    }
}
