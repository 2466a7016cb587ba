const MAX_PAUSE_MS = 15_000;

/** The delay before the nth attempt in a row, milliseconds. */
function pauseMs(failures: number): number {
  return Math.min(1_000 * 2 ** failures, MAX_PAUSE_MS) * (0.75 + Math.random() / 2);
}

/** Resolves after a pause, or as soon as the browser is online again. Rejects when `signal` is aborted. */
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

const MAX_ATTEMPTS = 4;

/** The pause of what was tried `MAX_ATTEMPTS` times in vain, before it is tried again. */
export function pauseUnreachable(signal?: AbortSignal): Promise<void> {
  return pause(MAX_ATTEMPTS, signal);
}

type Retries = {
  readonly maxAttempts: number;
  readonly signal?: AbortSignal | null | undefined;
  /** Whether a retry may succeed. Without it, every failure is retried. */
  readonly isTransient?: (error: unknown) => boolean;
  readonly onFailure?: () => void;
};

/**
 * Runs `run`, and retries it after pauses. Throws its last failure. What fails while the browser is offline is retried
 * until it is online again: only attempts with a network count.
 */
export async function retry<T>(run: () => Promise<T>, options: Retries): Promise<T> {
  const { maxAttempts, signal, isTransient, onFailure } = options;
  for (let failures = 0, counted = 0; ; failures++)
    try {
      return await run();
    } catch (error) {
      if (navigator.onLine) counted++;
      if (counted === maxAttempts || signal?.aborted || isTransient?.(error) === false) throw error;
      onFailure?.();
      await pause(failures, signal);
    }
}

/**
 * Resolves when the gateway answers. Returns whether it was away: what failed while it answers has another reason, and
 * fails again.
 */
export async function untilBack(signal: AbortSignal): Promise<boolean> {
  for (let failures = 0; ; failures++) {
    const response = await fetch("/dashboard/", { method: "HEAD", cache: "no-store", signal }).catch(
      () => null,
    );
    if (response?.ok) return failures > 0;
    await pause(failures, signal);
  }
}

/** Fetches, and retries while the network is down. Mutations are not retried: they may have arrived. */
export async function fetchAgain(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const isMutation = /"query":"(?:\s|\\n)*mutation\b/.test(String(init?.body));
  if (isMutation) return await fetch(input, init);
  return await retry(() => fetch(input, init), { maxAttempts: MAX_ATTEMPTS, signal: init?.signal });
}

/** A part of the dashboard that could not be loaded: the network is down, or another version was deployed. */
export class PartMissing extends Error {
  constructor(cause: unknown) {
    super("A part of this page could not be loaded.", { cause });
    this.name = "PartMissing";
  }
}

/** Loads a module, and retries while the network is down. Throws `PartMissing`. */
export async function loadAgain<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await retry(load, { maxAttempts: MAX_ATTEMPTS });
  } catch (error) {
    throw new PartMissing(error);
  }
}
