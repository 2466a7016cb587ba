import { getOperationAST } from "graphql";
import { Pool } from "undici";
import { openSocketSubscription } from "../subscriptions/socket-subscription.ts";
import type { JsonObject, SubgraphExecutor, SubgraphResult } from "./engine/subgraph-executor.ts";
import { httpPost } from "./http-post.ts";
import { createPeerHealth } from "./peer-health.ts";
import { RestartRetry } from "./restart-retry.ts";
import { readAnswer } from "./subgraph-answer.ts";
import { SubgraphRefused } from "./subgraph-refused.ts";

/** A subgraph in another process: GraphQL over HTTP, and graphql-transport-ws for subscriptions. */
export type RemoteExecutorOptions<C> = {
  /** The subgraph's GraphQL endpoint, `http:` or `https:`; the WebSocket uses the same address. */
  readonly url: string;
  /** The headers that identify the caller, for every request; `text` is the operation. */
  readonly headers: (context: C, text: string) => Readonly<Record<string, string>>;
  /** The parameters that identify the caller of one subscription: every subscription has its own socket. */
  readonly connectionParams: (context: C) => JsonObject;
  /** The longest that the subgraph may be silent: that a request, or the opening of a subscription, may take. */
  readonly timeoutMs?: number;
  /** The limit for queries, where it is longer, as long as the subgraph's `/healthz` shows that it is only slow. */
  readonly queryTimeoutMs?: number | undefined;
  /** The same for mutations. */
  readonly mutationTimeoutMs?: number | undefined;
  /** Whether mutations are waited for even if the subgraph is silent: they are billed when they end. */
  readonly keepsMutations?: boolean;
  readonly maxAnswerBytes?: number;
  /** Called with the size of each response. */
  readonly answered?: (context: C, bytes: number) => void;
  readonly maxConnections?: number;
  /**
   * For this long after its last response, an unreachable subgraph counts as restarting and is retried; default 0.
   */
  readonly restartMs?: number;
  /** The interval of pings to a subscription's peer ... */
  readonly pingMs?: number;
  /** ... which is disconnected when no pong arrives within this time. */
  readonly pongTimeoutMs?: number;
};

const DEFAULTS = {
  timeoutMs: 5_000,
  maxAnswerBytes: 8 * 1024 * 1024,
  maxConnections: 128,
  pingMs: 3_000,
  pongTimeoutMs: 2_000,
} as const;

/** Sends operations to a subgraph over the network. A response that is not GraphQL counts as a failure. */
export function createRemoteExecutor<C>(options: RemoteExecutorOptions<C>): SubgraphExecutor<C> {
  const { url, headers, connectionParams, queryTimeoutMs, mutationTimeoutMs, keepsMutations } = options;
  const { timeoutMs, maxAnswerBytes, maxConnections, pingMs, pongTimeoutMs } = { ...DEFAULTS, ...options };
  const { origin, pathname, search } = new URL(url);
  const pool = new Pool(origin, {
    connections: maxConnections,
    connect: { timeout: timeoutMs },
    // Every request has its own deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const restartRetry = new RestartRetry(options.restartMs ?? 0);
  const fixed = { path: pathname + search, maxBytes: maxAnswerBytes };
  const isPatient = queryTimeoutMs !== undefined || mutationTimeoutMs !== undefined;
  const health = isPatient ? createPeerHealth(url, timeoutMs) : undefined;
  const waitFor = (mutates: boolean) => ({
    limitMs: (mutates ? mutationTimeoutMs : queryTimeoutMs) ?? timeoutMs,
    peer: mutates && keepsMutations ? undefined : health,
  });
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
      const { limitMs, peer } = waitFor(mutates);
      const post = (leftMs: number) =>
        httpPost(pool, { ...fixed, timeoutMs: leftMs, headers: sent, body, signal, health: peer });
      const answer = await restartRetry.reach(post, { timeoutMs: limitMs, mutates, signal });
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
    async close() {
      await Promise.all([pool.destroy(), health?.close()]);
    },
  };
}

/** The status for a caller that is no gateway. What a client presents is answered with 200. */
const UNAUTHORIZED = 401;

function readResult(text: string, status: number): SubgraphResult {
  if (status === UNAUTHORIZED) throw new SubgraphRefused(`status ${status}`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`status ${status} with a body that is not JSON`);
  }
  const answer = readAnswer(body);
  if (!answer) throw new Error(`status ${status} with a body that is not a GraphQL result`);
  return answer;
}
