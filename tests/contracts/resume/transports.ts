import { createParser } from "eventsource-parser";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";

/** The transports of the protocol. */
export const TRANSPORTS = ["websocket", "sse", "multipart"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Where a server serves each transport, and the headers of every request. */
export type Endpoint = {
  readonly url: string;
  /** By default the URL with `ws` in place of `http`, and the URL itself. */
  readonly websocketUrl?: string | undefined;
  readonly sseUrl?: string | undefined;
  /** Sent over WebSocket as connection parameters too. */
  readonly headers: Readonly<Record<string, string>>;
};

/** A GraphQL result as received. */
export type Result = {
  readonly data?: Readonly<Record<string, unknown>> | null | undefined;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions?: { readonly code?: unknown };
  }[];
};

/** An open subscription. */
export type Stream = {
  readonly results: Result[];
  /** How the stream ended; undefined while it is open. */
  ended(): { readonly reason: unknown } | undefined;
  /** Cuts the connection, as a network failure would: nothing is sent to the server. */
  cut(): void;
};

export type Operation = { readonly query: string; readonly variables: Readonly<Record<string, unknown>> };

/** Opens a subscription. The stream may end at once: its errors are among the results, or the reason of its end. */
export function openStream(transport: Transport, endpoint: Endpoint, operation: Operation): Stream {
  if (transport === "websocket") return openSocket(endpoint, operation);
  const results: Result[] = [];
  let ended: { readonly reason: unknown } | undefined;
  const leaving = new AbortController();
  const read = transport === "sse" ? readEvents : readParts;
  read(endpoint, operation, { signal: leaving.signal, onResult: (result) => results.push(result) }).then(
    () => {
      ended = { reason: "complete" };
    },
    (reason: unknown) => {
      ended = { reason };
    },
  );
  return { results, ended: () => ended, cut: () => leaving.abort() };
}

/** Runs a query or a mutation. Throws when it has errors. */
export async function run({ url, headers }: Endpoint, query: string): Promise<NonNullable<Result["data"]>> {
  const reply = await fetch(url, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json", ...headers },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = (await reply.json()) as Result;
  if (errors || !data) throw new Error(`${query} failed: ${JSON.stringify(errors)}`);
  return data;
}

function openSocket({ url, websocketUrl, headers }: Endpoint, operation: Operation): Stream {
  const results: Result[] = [];
  let ended: { readonly reason: unknown } | undefined;
  let socket: WebSocket | undefined;
  const client = createClient({
    url: websocketUrl ?? url.replace(/^http/, "ws"),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: headers,
    on: {
      opened(opened) {
        socket = opened as WebSocket;
      },
    },
  });
  client.subscribe(operation, {
    next: (result) => void results.push(result as Result),
    error: (reason) => {
      // The protocol has a message for errors of an operation.
      if (Array.isArray(reason)) results.push({ errors: reason });
      ended = { reason };
    },
    complete: () => {
      ended ??= { reason: "complete" };
    },
  });
  return { results, ended: () => ended, cut: () => socket?.terminate() };
}

type Reading = { readonly signal: AbortSignal; readonly onResult: (result: Result) => void };

async function post(
  url: string,
  accept: string,
  endpoint: Endpoint,
  operation: Operation,
  signal: AbortSignal,
) {
  const reply = await fetch(url, {
    method: "POST",
    headers: { accept, "content-type": "application/json", ...endpoint.headers },
    body: JSON.stringify(operation),
    signal,
  });
  return { reply, type: reply.headers.get("content-type") ?? "" };
}

async function readEvents(endpoint: Endpoint, operation: Operation, { signal, onResult }: Reading) {
  const url = endpoint.sseUrl ?? endpoint.url;
  const { reply, type } = await post(url, "text/event-stream", endpoint, operation, signal);
  if (!type.startsWith("text/event-stream")) return onResult((await reply.json()) as Result);
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === "next") onResult(JSON.parse(data));
    },
  });
  for await (const text of textsOf(reply)) parser.feed(text);
}

const MULTIPART = "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json";

async function readParts(endpoint: Endpoint, operation: Operation, { signal, onResult }: Reading) {
  const { reply, type } = await post(endpoint.url, MULTIPART, endpoint, operation, signal);
  if (!type.startsWith("multipart/mixed")) return onResult((await reply.json()) as Result);
  const boundary = `\r\n--${/boundary="?([^";]+)"?/i.exec(type)?.[1] ?? "-"}`;
  let rest = "\r\n";
  for await (const text of textsOf(reply)) {
    const parts = (rest + text).split(boundary);
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const json = part.split("\r\n\r\n")[1];
      const { payload, errors } = json === undefined ? {} : JSON.parse(json);
      if (payload || errors) onResult(payload ?? { errors });
    }
  }
}

async function* textsOf({ body }: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) yield decoder.decode(chunk as Uint8Array, { stream: true });
}
