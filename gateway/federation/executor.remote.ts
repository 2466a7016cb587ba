import { type DocumentNode, getOperationAST } from "graphql";
import { Pool } from "undici";
import { openSocketSubscription } from "../subscriptions/socket-subscription.ts";
import {
  isObject,
  type JsonObject,
  type SubgraphError,
  type SubgraphExecutor,
  type SubgraphResult,
} from "./engine/subgraph-executor.ts";
import { httpPost } from "./http-post.ts";
import { RestartRetry } from "./restart-retry.ts";

/** A subgraph in another process: GraphQL over HTTP, and graphql-transport-ws for subscriptions. */
export type RemoteExecutorOptions<C> = {
  /** The subgraph's GraphQL endpoint, `http:` or `https:`; the WebSocket has the same address. */
  readonly url: string;
  /** Who asks, on every request; `text` is what is asked. */
  readonly headers: (context: C, text: string) => Readonly<Record<string, string>>;
  /** Who asks, for one subscription: every subscription has a socket of its own. */
  readonly connectionParams: (context: C) => JsonObject;
  /** How long a request may take, and the opening of a subscription. */
  readonly timeoutMs?: number;
  /** How long a mutation may take, where that is longer: one that waits for a provider is billed when it comes. */
  readonly mutationTimeoutMs?: number | undefined;
  readonly maxAnswerBytes?: number;
  /** Told of the size of each answer that came. */
  readonly answered?: (context: C, bytes: number) => void;
  readonly maxConnections?: number;
  /** So long after it was last reached a subgraph counts as one that restarts, and is waited for; 0 unless told. */
  readonly restartMs?: number;
  /** A subscription's peer is asked this often whether it is there ... */
  readonly pingMs?: number;
  /** ... and is given up when it does not say so in this time. */
  readonly pongTimeoutMs?: number;
};

const DEFAULTS = {
  timeoutMs: 5_000,
  maxAnswerBytes: 8 * 1024 * 1024,
  maxConnections: 128,
  pingMs: 3_000,
  pongTimeoutMs: 2_000,
} as const;

/** Asks a subgraph over the network. An answer that is no GraphQL is no answer. */
export function createRemoteExecutor<C>(options: RemoteExecutorOptions<C>): SubgraphExecutor<C> {
  const { url, headers, connectionParams, mutationTimeoutMs } = options;
  const { timeoutMs, maxAnswerBytes, maxConnections, pingMs, pongTimeoutMs } = { ...DEFAULTS, ...options };
  const { origin, pathname, search } = new URL(url);
  const pool = new Pool(origin, {
    connections: maxConnections,
    connect: { timeout: timeoutMs },
    // Every request has a deadline of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const patience = new RestartRetry(options.restartMs ?? 0);
  const fixed = { path: pathname + search, maxBytes: maxAnswerBytes };
  const deadlineOf = (document: DocumentNode) =>
    mutationTimeoutMs !== undefined && getOperationAST(document)?.operation === "mutation"
      ? mutationTimeoutMs
      : timeoutMs;
  return {
    isRemote: true,
    async execute({ document, text, variables, context, signal }) {
      const body = JSON.stringify({ query: text, variables });
      const sent = {
        ...headers(context, text),
        "content-type": "application/json",
        accept: "application/json",
      };
      const mutates = getOperationAST(document)?.operation === "mutation";
      const post = (timeoutMs: number) =>
        httpPost(pool, { ...fixed, timeoutMs, headers: sent, body, signal });
      const answer = await patience.reach(post, { timeoutMs: deadlineOf(document), mutates, signal });
      options.answered?.(context, answer.text.length);
      return readResult(answer.text, answer.status);
    },
    subscribe({ text, variables, context }) {
      return openSocketSubscription({
        url: url.replace(/^http/, "ws"),
        payload: { query: text, variables },
        connectionParams: connectionParams(context),
        timeoutMs,
        maxBytes: maxAnswerBytes,
        pingMs,
        pongTimeoutMs,
      });
    },
    close: () => pool.destroy(),
  };
}

function readResult(text: string, status: number): SubgraphResult {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`status ${status}, and no JSON`);
  }
  if (!isObject(body) || !(isObject(body.data) || Array.isArray(body.errors))) {
    throw new Error(`status ${status}, and no GraphQL result`);
  }
  return {
    data: isObject(body.data) ? body.data : null,
    ...(Array.isArray(body.errors) && { errors: body.errors.filter(isError).map(withPositions) }),
  };
}

function isError(error: unknown): error is SubgraphError {
  return isObject(error) && typeof error.message === "string";
}

/** Mercurius writes list positions as text over HTTP; no response key is a number. */
function withPositions(error: SubgraphError): SubgraphError {
  const path = error.path?.map((key) => (/^\d+$/.test(String(key)) ? Number(key) : key));
  return { ...error, path };
}
