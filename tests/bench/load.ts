import { type Dispatcher, Pool } from "undici";

/** A server that answers chats or operations. Requests use the bearers in turn. */
export type Target = {
  readonly name: string;
  readonly origin: string;
  readonly path: string;
  readonly bearers: readonly string[];
  /** Further headers that it needs. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** The number of connections, each with one request at a time, and the duration of the load. */
export type Load = { readonly body: Buffer; readonly connections: number; readonly durationMs: number };

/** One request of a load. */
export type LoadRequest = {
  readonly method: "GET" | "POST";
  /** With its query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
};

/**
 * The results. Latency ends with the last byte, first byte is the first of the body; events are `data:`
 * lines.
 */
export type Measured = {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstByteP50Ms: number;
  readonly eventsPerSecond: number;
};

type Sample = { readonly latencyMs: number; readonly firstByteMs: number; readonly events: number };

/** Puts load on `target` and measures. Throws when an answer is not 200: an error is not throughput. */
export async function runLoad(target: Target, { body, connections, durationMs }: Load): Promise<Measured> {
  const { path, bearers, headers } = target;
  const endMs = performance.now() + durationMs;
  let turn = 0;
  return runRequests(target, connections, () => {
    if (performance.now() >= endMs) return undefined;
    const bearer = bearers[turn++ % bearers.length];
    return {
      ...{ method: "POST", path, body },
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        "content-type": "application/json",
        ...headers,
      },
    };
  });
}

/** The same for requests that differ, until `next` has none. */
export async function runRequests(
  { name, origin }: Pick<Target, "name" | "origin">,
  connections: number,
  next: () => LoadRequest | undefined,
): Promise<Measured> {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const samples: Sample[] = [];
  const startedMs = performance.now();
  const worker = async () => {
    for (let request = next(); request; request = next()) samples.push(await ask(pool, name, request));
  };
  try {
    await Promise.all(Array.from({ length: connections }, worker));
  } finally {
    await pool.destroy();
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const latencies = samples.map(({ latencyMs }) => latencyMs).sort((a, b) => a - b);
  const firstBytes = samples.map(({ firstByteMs }) => firstByteMs).sort((a, b) => a - b);
  return {
    requests: samples.length,
    perSecond: samples.length / seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    firstByteP50Ms: quantile(firstBytes, 0.5),
    eventsPerSecond: samples.reduce((sum, { events }) => sum + events, 0) / seconds,
  };
}

/** The value below which the share `q` of `sorted` is. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

function ask(pool: Pool, name: string, request: LoadRequest): Promise<Sample> {
  const { promise, resolve, reject } = Promise.withResolvers<Sample>();
  const startedMs = performance.now();
  let firstByteMs = Number.NaN;
  let events = 0;
  let refused = "";
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {},
    onResponseStart(_, status) {
      if (status !== 200) refused = `${name} answered ${status}: `;
    },
    onResponseData(_, chunk) {
      if (Number.isNaN(firstByteMs)) firstByteMs = performance.now() - startedMs;
      if (refused) refused += chunk.toString();
      for (let at = chunk.indexOf("data:"); at !== -1; at = chunk.indexOf("data:", at + 5)) events++;
    },
    onResponseEnd() {
      if (refused) reject(new Error(refused));
      else resolve({ latencyMs: performance.now() - startedMs, firstByteMs, events });
    },
    onResponseError: (_, error) => reject(error),
  };
  pool.dispatch(request, handler);
  return promise;
}
