import { createClient } from "graphql-ws";
import WebSocket from "ws";
import { type BufferedBytes, PushIterator } from "../../src/kernel/async/push-iterator.ts";
import type { JsonObject, SubgraphError, SubgraphResult } from "../federation/engine/subgraph-executor.ts";
import { readAnswer, readErrors } from "../federation/subgraph-answer.ts";
import { SubgraphRefused } from "../federation/subgraph-refused.ts";

/** The close code for a caller that is no gateway. */
const FORBIDDEN = 4403;
/** Unread events of one subscription: a result that a subgraph sends may have megabytes. */
const MAX_BEHIND = 1_000;
const BUFFERED: BufferedBytes<SubgraphResult> = {
  maxBytes: 1_048_576,
  bytesOf: (result) => JSON.stringify(result).length,
};

/** One subscription, and how long its peer may be silent. */
export type SocketSubscription = {
  readonly url: string;
  readonly payload: { readonly query: string; readonly variables: JsonObject };
  readonly connectionParams: JsonObject;
  /** For the handshake, and again for the acknowledgement. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly pingMs: number;
  readonly pongTimeoutMs: number;
};

/**
 * Subscribes over its own graphql-transport-ws socket. A lost source throws: also one that closes the socket cleanly
 * (the client would reconnect and miss events), or that disappears silently (no pong). An error reported by the
 * subgraph is delivered as a last event.
 */
export function openSocketSubscription(options: SocketSubscription): AsyncIterableIterator<SubgraphResult> {
  const watch = new PeerWatch(options.pongTimeoutMs);
  const end = () => {
    watch.stop();
    unsubscribe();
  };
  const events: PushIterator<SubgraphResult> = new PushIterator(end, MAX_BEHIND, BUFFERED);
  const lose = (reason: unknown) => events.fail(asError(reason));
  const client = createClient({
    url: options.url,
    webSocketImpl: socketClass(options),
    connectionParams: options.connectionParams,
    connectionAckWaitTimeout: options.timeoutMs,
    keepAlive: options.pingMs,
    retryAttempts: 0,
    on: {
      opened: (socket) => watch.start(socket),
      ping: (received) => !received && watch.expectPong(),
      pong: (received) => received && watch.pongCame(),
      error: lose,
      closed: lose,
    },
  });
  const unsubscribe = client.subscribe<JsonObject, JsonObject>(options.payload, {
    // An event that is not a result has neither data nor errors, which is reported in its place.
    next: (result) => events.push(readAnswer(result) ?? { data: null }),
    error(reason) {
      const named = namedFailures(reason);
      if (!named) return lose(reason);
      events.push({ data: null, errors: named });
      events.end();
    },
    complete: () => events.end(),
  });
  return events;
}

/** Disconnects from a peer that does not answer pings: it may have disappeared silently. */
class PeerWatch {
  readonly #pongTimeoutMs: number;
  #socket: WebSocket | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(pongTimeoutMs: number) {
    this.#pongTimeoutMs = pongTimeoutMs;
  }

  start(socket: unknown): void {
    if (socket instanceof WebSocket) this.#socket = socket;
  }

  expectPong(): void {
    this.#deadline = setTimeout(() => this.#socket?.terminate(), this.#pongTimeoutMs);
  }

  pongCame(): void {
    clearTimeout(this.#deadline);
  }

  stop(): void {
    clearTimeout(this.#deadline);
  }
}

type SocketClass = new (url: string | URL, protocols?: string | string[]) => WebSocket;

/** graphql-ws creates the socket itself, so the limits are set in the socket class. */
function socketClass({ timeoutMs, maxBytes }: SocketSubscription): SocketClass {
  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      const limits = { handshakeTimeout: timeoutMs, maxPayload: maxBytes, perMessageDeflate: false };
      super(url, protocols, limits);
      // A socket closed during its handshake still emits an error, when no other listener is left.
      this.on("error", () => {});
    }
  };
}

/** The errors that the subgraph reports; a bug in the subgraph counts as a lost source. */
function namedFailures(reason: unknown): readonly SubgraphError[] | undefined {
  const errors = readErrors(reason);
  const named = errors?.every(({ extensions }) => extensions?.code && extensions.code !== "internal_error");
  return named ? errors : undefined;
}

function asError(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  if (Array.isArray(reason)) return new Error(`refused: ${JSON.stringify(reason)}`);
  const { error, code, reason: text } = Object(reason);
  if (error instanceof Error) return error;
  if (code === FORBIDDEN) return new SubgraphRefused(`code ${code}`);
  return new Error(`the socket was closed (${code ?? "no code"} ${text ?? ""})`);
}
