import { createClient, type Client as SocketClient } from "graphql-ws";
import { CredentialFailure, type GraphError } from "../core/errors.ts";
import { type Failure, failureOfClose, failureOfErrors, failureOfNetwork } from "../core/failures.ts";
import { bodyOf } from "../core/request.ts";
import type { GraphResult, OpenTransport, Transport, TransportOptions } from "../core/transport.ts";

/** Settings of the socket. */
export type WebSocketOptions = {
  /** A class like the browser's `WebSocket`, which Node has from version 22 on. */
  readonly webSocket?: unknown;
  /** The interval between pings, milliseconds. Default: 10,000. */
  readonly pingMs?: number;
};

/** How long an unused socket stays open: a page that changes its subscriptions keeps it. */
const IDLE_MS = 3_000;
const ACK_MS = 15_000;
const NORMAL_CLOSURE = 1_000;

/** Subscriptions over one WebSocket, by graphql-transport-ws. */
export function webSocket({
  webSocket: webSocketImpl,
  pingMs = 10_000,
}: WebSocketOptions = {}): OpenTransport {
  return (options) => new SocketTransport(options, { webSocketImpl, pingMs });
}

type SocketSettings = { readonly webSocketImpl: unknown; readonly pingMs: number };

class SocketTransport implements Transport {
  readonly #client: SocketClient;
  #isConnected = false;

  constructor({ url, authorization }: TransportOptions, { webSocketImpl, pingMs }: SocketSettings) {
    this.#client = createClient({
      url: () => socketUrl(url),
      ...(webSocketImpl !== undefined && { webSocketImpl }),
      keepAlive: pingMs,
      connectionAckWaitTimeout: ACK_MS,
      lazyCloseTimeout: IDLE_MS,
      // Subscriptions come again by themselves, each after its own cursor.
      retryAttempts: 0,
      async connectionParams() {
        const value = await authorization();
        return value === undefined ? {} : { authorization: value };
      },
      on: {
        connected: () => {
          this.#isConnected = true;
        },
        closed: () => {
          this.#isConnected = false;
        },
      },
    });
  }

  subscribe(...[operation, sink]: Parameters<Transport["subscribe"]>): ReturnType<Transport["subscribe"]> {
    const client = this.#client;
    const { query, operationName, variables } = operation;
    try {
      bodyOf(variables);
    } catch (reason) {
      queueMicrotask(() => sink.failed(failureOfNetwork(reason)));
      return { stop() {}, abandon() {} };
    }
    // A result is a message as well.
    const listening = [client.on("message", () => sink.heard()), client.on("connected", () => sink.opened())];
    let isOver = false;
    const end = (report?: () => void) => {
      if (isOver) return;
      isOver = true;
      for (const stop of listening) stop();
      report?.();
    };
    const unsubscribe = client.subscribe(
      { query, ...(operationName && { operationName }), variables: { ...variables } },
      {
        next: (result) => isOver || sink.next(result as GraphResult),
        error: (reason) => end(() => sink.failed(failureOf(reason))),
        complete: () => end(() => sink.ended()),
      },
    );
    listening.push(
      client.on("error", (reason) => {
        // The library reports what its settings throw here, and to subscriptions only as a close.
        if (!(reason instanceof CredentialFailure)) return;
        end(() => sink.failed(failureOfNetwork(reason)));
        unsubscribe();
      }),
      client.on("closed", (event) => {
        // The library takes such a close for ours while nothing is subscribed, and otherwise sends the old operation again.
        if (Object(event).code !== NORMAL_CLOSURE || isOver) return;
        end(() => sink.failed(failureOf(event)));
        unsubscribe();
      }),
    );
    if (this.#isConnected) sink.opened();
    const stop = () => {
      end();
      unsubscribe();
    };
    return {
      stop,
      abandon: () => {
        stop();
        client.terminate();
      },
    };
  }

  reset(): void {
    this.#client.terminate();
  }

  dispose(): void {
    void this.#client.dispose();
  }
}

/** A relative address is one of the page. */
function socketUrl(url: string): string {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
  return new URL(url, page).href.replace(/^http/, "ws");
}

function failureOf(reason: unknown): Failure {
  if (Array.isArray(reason)) return failureOfErrors(reason as readonly GraphError[]);
  const { code, reason: text } = Object(reason) as { readonly code?: unknown; readonly reason?: unknown };
  return typeof code === "number" ? failureOfClose(code, String(text ?? "")) : failureOfNetwork(reason);
}
