import type { lookup } from "node:dns";
import { Pool } from "undici";
import { publicConnector } from "../../../kernel/address-guard.ts";

/** Why a node or an indexer gave no usable answer. `refused`: it answered with an error, whose text is the message. */
export type NodeFailureKind = "unreachable" | "silent" | "malformed" | "refused" | "forbidden" | "lied";

/** A failed call to a node. Log its message but do not expose it: it may be the node's own text. */
export class NodeFailure extends Error {
  override readonly name = "NodeFailure";
  readonly kind: NodeFailureKind;

  constructor(kind: NodeFailureKind, message: string, options?: ErrorOptions) {
    super(message.slice(0, 300), options);
    this.kind = kind;
  }
}

type Dependencies = {
  /** Whether nodes that the operator did not configure may have private addresses, as on the development network. */
  readonly allowsPrivate: boolean;
  readonly connectMs: number;
  /** Resolves host names; by default the system resolver. */
  readonly resolve?: typeof lookup;
};

export type CallOptions = {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the operator configured this URL: then any address is allowed. */
  readonly isOwn?: boolean;
};

/** Fits one base64 segment with the longest proof and its envelope, with room to spare. */
const MAX_ANSWER_BYTES = 2 ** 20;
const CONNECTIONS = 32;
/** Only the most recently used pools stay open; discovered nodes come and go. */
const MAX_POOLS = 512;

/**
 * A JSON-RPC client for storage nodes and indexers, with one keep-alive pool for each. Plain `http:` is allowed, since
 * nodes offer nothing else and their data is verified; addresses that are not public are not, unless the operator
 * configured them. Redirects are not followed.
 */
export class NodeRpc {
  readonly #dependencies: Dependencies;
  readonly #pools = new Map<string, Pool>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The result of a call. Throws a `NodeFailure`, or the reason of `signal`. */
  async call(
    url: string,
    method: string,
    params: readonly unknown[],
    { timeoutMs, signal, isOwn = false }: CallOptions,
  ): Promise<unknown> {
    const place = this.#placeOf(url, isOwn);
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const { statusCode, body } = await place.pool.request({
        method: "POST",
        path: place.path,
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      if (statusCode !== 200) {
        // Destroying the body emits an error event, which is ignored.
        body.on("error", () => {}).destroy();
        throw new NodeFailure("unreachable", `${method} returned status ${statusCode}`);
      }
      return resultOf(method, await readBounded(body));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof NodeFailure) throw error;
      if (limit.aborted) throw new NodeFailure("silent", `${method} took more than ${timeoutMs} ms`);
      throw new NodeFailure("unreachable", `${method} failed`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  #placeOf(url: string, isOwn: boolean): { readonly pool: Pool; readonly path: string } {
    const parsed = URL.parse(url);
    if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "")
      throw new NodeFailure("forbidden", `not a valid node URL: ${url}`);
    const isFree = isOwn || this.#dependencies.allowsPrivate;
    const key = `${isFree ? "any" : "public"} ${parsed.origin}`;
    const pool = this.#pools.get(key) ?? this.#open(parsed.origin, isFree);
    this.#pools.delete(key);
    this.#pools.set(key, pool);
    for (const [oldest, idle] of this.#pools) {
      if (this.#pools.size <= MAX_POOLS) break;
      this.#pools.delete(oldest);
      void idle.close();
    }
    return { pool, path: parsed.pathname + parsed.search };
  }

  #open(origin: string, isFree: boolean): Pool {
    const { connectMs, resolve } = this.#dependencies;
    return new Pool(origin, {
      connections: CONNECTIONS,
      connect: isFree ? { timeout: connectMs } : publicConnector(connectMs, resolve),
    });
  }
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    // Leaving the loop destroys the rest of the body.
    if (length > MAX_ANSWER_BYTES) throw new NodeFailure("malformed", "the response is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function resultOf(method: string, text: string): unknown {
  const answer = parse(text);
  if (typeof answer !== "object" || answer === null)
    throw new NodeFailure("malformed", `${method} did not return a JSON object`);
  const { result, error } = answer as { result?: unknown; error?: unknown };
  if (error === undefined || error === null) return result ?? null;
  const { message, data } = error as { message?: unknown; data?: unknown };
  throw new NodeFailure("refused", `${String(message)}: ${typeof data === "string" ? data : ""}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
