import { createParser } from "eventsource-parser";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { FAILURES, GRAPHQL_FAILURES } from "../../../src/kernel/errors.ts";

/** A result as received. */
export type GraphResult = {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever its own query asked for
  readonly data?: any;
  readonly errors?: readonly {
    message: string;
    path?: readonly (string | number)[];
    extensions?: { code?: string; param?: string };
  }[];
};

const CODES: ReadonlySet<string> = new Set(Object.keys({ ...FAILURES, ...GRAPHQL_FAILURES }));
const routers = new Map<string, string>();

/** Whether an external router stands between the tests and the graph. It has its own sockets and statuses. */
export let isRouted = false;

/** Sets this, before the tests are read. */
export function expectRouter(): void {
  isRouted = true;
}

/** The status of a wrong credential at `origin`: external routers pass on the error, and not its status. */
export function unauthorized(origin: string): number {
  return routers.has(origin) ? 200 : 401;
}

/** From now on, graph requests to `origin` go through the router in front of it. */
export function askThrough(router: string, origin: string): void {
  routers.set(origin, router);
}

/** Posts a query; resolves with its status and result. */
export async function ask(
  origin: string,
  secret: string | undefined,
  query: string,
  variables: object = {},
): Promise<GraphResult & { status: number }> {
  const reply = await fetch(`${routers.get(origin) ?? origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(secret && { authorization: `Bearer ${secret}` }) },
    body: JSON.stringify({ query, variables }),
  });
  const result = (await reply.json()) as GraphResult;
  if (!routers.has(origin)) requireKnownCodes(result);
  return { status: reply.status, ...result };
}

/** Every error that a test meets has a code of the catalogue, which the schema publishes as `ErrorCode`. */
function requireKnownCodes({ errors = [] }: GraphResult): void {
  for (const { message, extensions } of errors)
    if (!CODES.has(extensions?.code ?? "")) throw new Error(`"${message}" has the code ${extensions?.code}`);
}

/** An open subscription: its results so far, and how it ended. */
export type Following = {
  readonly results: GraphResult[];
  readonly closed: Promise<unknown>;
  /** The server's message when it ended the subscription. */
  readonly failure?: GraphResult["errors"];
  stop(): Promise<void>;
};

/** Follows a subscription over graphql-transport-ws. Resolves when the socket is acknowledged; `ended` when it is over. */
export async function followSocket(
  origin: string,
  secret: string | undefined,
  query: string,
  more: object = {},
): Promise<Following & { readonly ended: Promise<unknown> }> {
  const results: GraphResult[] = [];
  const client = createClient({
    url: socketUrl(origin),
    webSocketImpl: WebSocket,
    lazy: false,
    retryAttempts: 0,
    onNonLazyError: () => {},
    connectionParams: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
  });
  const closed = new Promise<unknown>((resolve) => client.on("closed", resolve));
  const connected = new Promise((resolve) => client.on("connected", resolve));
  let failure: GraphResult["errors"];
  const { promise: completed, resolve: complete } = Promise.withResolvers<void>();
  const error = (reason: unknown) => {
    if (Array.isArray(reason)) failure = reason;
    complete();
  };
  client.subscribe<GraphResult["data"]>(
    { query, ...more },
    { next: (result) => void results.push(result as GraphResult), error, complete },
  );
  await Promise.race([connected, closed]);
  return {
    results,
    closed,
    ended: Promise.race([closed, completed]),
    get failure() {
      return failure;
    },
    stop: async () => void (await client.dispose()),
  };
}

/** Opens a socket without operations. Resolves with how it was closed. */
export function openSocket(origin: string, secret: string): Promise<unknown> {
  const client = createClient({
    url: socketUrl(origin),
    webSocketImpl: WebSocket,
    lazy: false,
    retryAttempts: 0,
    onNonLazyError: () => {},
    connectionParams: { authorization: `Bearer ${secret}` },
  });
  return new Promise((resolve) => client.on("closed", resolve));
}

/**
 * Follows a subscription over server-sent events. Resolves when the stream is open; throws the server's
 * refusal.
 */
export async function followEvents(
  origin: string,
  secret: string | undefined,
  query: string,
  path = "/graphql/stream",
  more: object = {},
): Promise<Following> {
  const results: GraphResult[] = [];
  const leaving = new AbortController();
  const router = routers.get(origin);
  const reply = await fetch(router ? `${router}/graphql` : origin + path, {
    method: "POST",
    signal: leaving.signal,
    headers: {
      accept: "text/event-stream",
      "content-type": "application/json",
      ...(secret && { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({ query, ...more }),
  });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === "next") results.push(JSON.parse(data) as GraphResult);
    },
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? [])
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  };
  const closed = read().catch((error: unknown) => error);
  return {
    results,
    closed,
    async stop() {
      leaving.abort();
      await closed;
    },
  };
}

function socketUrl(origin: string): string {
  return `${(routers.get(origin) ?? origin).replace(/^http/, "ws")}/graphql`;
}

type Payload = { readonly userErrors?: readonly { readonly code: string }[] } | null;

/** The code of an answer's failure: of its first error, or of the first user error of a mutation that selects `code`. */
export function failureCode({ data, errors }: Pick<GraphResult, "data" | "errors">): string | undefined {
  const payloads = Object.values((data ?? {}) as Record<string, Payload>);
  return errors?.[0]?.extensions?.code ?? payloads.flatMap((payload) => payload?.userErrors ?? [])[0]?.code;
}
