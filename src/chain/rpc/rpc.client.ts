import {
  BlockNotFoundError,
  createPublicClient,
  createTransport,
  numberToHex,
  type PublicClient,
  type RpcLog,
} from "viem";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { type Hex, isAddress, lowerHex } from "../../kernel/text/hex.ts";
import type { ChainBlock, ChainLog } from "../watcher/log-handler.ts";
import { toBlock } from "./chain-block.ts";
import { Finality } from "./finality.ts";
import { NewestHead } from "./newest-head.ts";
import { requestWithFallback } from "./request-with-fallback.ts";
import { type EndpointStatus, type RpcCall, RpcEndpoint } from "./rpc-endpoint.ts";

/** Selects logs of these contracts, with one of these first topics, in a range of blocks or in one block. */
export type LogFilter = {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  readonly where: { readonly from: bigint; readonly to: bigint } | { readonly blockHash: Hex };
};

/** The chain, read over one or more RPC endpoints. Every RPC failure is a `chain_error`. */
export type Rpc = {
  /** For typed contract reads; map its errors with `chainError`. */
  readonly client: PublicClient;
  readonly chainId: number;
  /**
   * Checks every endpoint's chain id. Endpoints that serve another chain or do not answer are not used; throws a
   * `chain_error` for the operator when none is left.
   */
  verifyChain(): Promise<void>;
  /** The status of each endpoint, in configured order. */
  endpoints(): readonly EndpointStatus[];
  /** The newest block. */
  head(): Promise<ChainBlock>;
  /** The block at a height, undefined if the endpoint has none. */
  block(number: bigint): Promise<ChainBlock | undefined>;
  /**
   * The number of the newest `finalized` block, undefined if no endpoint supports that tag. Once it has been read, an
   * endpoint that does not name one at the moment, or is away, does not count as one without the tag: the last known
   * number is returned, since a final block stays final. Throws `chain_error` when it was refused for another reason.
   */
  finalized(): Promise<bigint | undefined>;
  /** The logs that a filter selects, from an endpoint that has the last block of its range. */
  logs(filter: LogFilter): Promise<readonly ChainLog[]>;
};

type Options = {
  readonly urls: readonly string[];
  /** The value of `NETWORK`, for messages to the operator. */
  readonly network: string;
  readonly chainId: number;
  readonly timeoutMs?: number;
  readonly pollMs?: number;
  readonly log: Logger;
  readonly clock?: Clock;
  /** The age from which on the newest block of an endpoint is compared with those of the others. */
  readonly maxHeadAgeMs?: number | undefined;
};

const MAX_HEAD_AGE_MS = 120_000;

/**
 * Uses the endpoints in configured order: if one fails, the next one is tried. Endpoints whose chain id is not
 * `chainId` are skipped. Nothing is sent before the first call.
 */
export function createRpc(options: Options): Rpc {
  const { urls, network, chainId, timeoutMs = 10_000, pollMs = 2_000, log, clock = systemClock } = options;
  const { maxHeadAgeMs = maxHeadAgeOf(network) } = options;
  const endpoints = urls.map((url) => new RpcEndpoint({ url, network, chainId, timeoutMs, log, clock }));
  const client = createPublicClient({
    // Retries span all endpoints.
    transport: () =>
      createTransport({
        key: "endpoints",
        name: "RPC endpoints in turn",
        type: "endpoints",
        retryCount: 1,
        retryDelay: 100,
        request: (call) =>
          requestWithFallback(endpoints, (endpoint) => endpoint.request(call)) as Promise<never>,
      }),
    cacheTime: 0,
    pollingInterval: pollMs,
  });
  const finality = new Finality(client, () => endpoints.map((endpoint) => endpoint.status()));
  const heads = new NewestHead({ endpoints, clock, maxAgeMs: maxHeadAgeMs });
  return {
    client,
    chainId,
    async verifyChain() {
      const answers = await Promise.allSettled(endpoints.map((endpoint) => endpoint.verify()));
      if (answers.some(({ status }) => status === "fulfilled")) return;
      const wrong = endpoints.findIndex((endpoint) => endpoint.status().state === "wrong_chain");
      const answer = answers[wrong];
      throw answer?.status === "rejected"
        ? answer.reason
        : new AppError(
            "chain_error",
            `RPC_URL does not answer: ${endpoints.map(({ host }) => host).join(", ")}.`,
          );
    },
    endpoints: () => endpoints.map((endpoint) => endpoint.status()),
    head: () =>
      withChainError("the newest block", () => heads.read(async () => toBlock(await client.getBlock()))),
    block: (number) =>
      withChainError(`block ${number}`, async () => {
        try {
          return toBlock(await client.getBlock({ blockNumber: number }));
        } catch (error) {
          if (error instanceof BlockNotFoundError) return undefined;
          throw error;
        }
      }),
    finalized: () => withChainError("the final block", () => finality.read()),
    // Not retried, so that a range that is refused is halved at once.
    logs: ({ addresses, topics, where }) =>
      withChainError("logs", async () => {
        const range =
          "blockHash" in where
            ? where
            : { fromBlock: numberToHex(where.from), toBlock: numberToHex(where.to) };
        const call = {
          method: "eth_getLogs",
          params: [{ address: [...addresses], topics: [[...topics]], ...range }],
        };
        const logs = await requestWithFallback(endpoints, (endpoint) =>
          "to" in where ? logsUpTo(endpoint, call, where.to) : endpoint.request(call),
        );
        return (logs as readonly RpcLog[]).filter(({ removed }) => !removed).map(toLog);
      }),
  };
}

/**
 * The logs of a range, whose last block the endpoint has; throws `chain_error` otherwise. An endpoint that lags omits
 * the logs of blocks that it does not have yet, without an error, although another endpoint may have returned these
 * blocks. Both are requested together, because the backends of one endpoint differ as well.
 */
async function logsUpTo(endpoint: RpcEndpoint, call: RpcCall, last: bigint): Promise<unknown> {
  const params = [numberToHex(last), false];
  const [logs, block] = await endpoint.requestTogether([call, { method: "eth_getBlockByNumber", params }]);
  if (block) return logs;
  throw new AppError("chain_error", `The chain's RPC does not have block ${last} yet.`);
}

/** Blocks of a real network are new every few seconds; those of a development network are mined when they are needed. */
export function maxHeadAgeOf(network: string): number {
  return network === "devnet" ? Number.POSITIVE_INFINITY : MAX_HEAD_AGE_MS;
}

/** Wraps an error that viem threw in a `chain_error`, as its cause; the text of the cause is not shown. */
export function chainError(what: string, cause: unknown): AppError {
  return cause instanceof AppError
    ? cause
    : new AppError("chain_error", `The chain's RPC failed: ${what}.`, { cause });
}

async function withChainError<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw chainError(what, error);
  }
}

function toLog(log: RpcLog): ChainLog {
  if (!log.blockNumber || !log.logIndex || !log.blockHash || !log.transactionHash || !isAddress(log.address))
    throw new AppError("chain_error", "The chain's RPC returned an invalid log.");
  return {
    address: lowerHex(log.address),
    topics: log.topics.map(lowerHex),
    data: lowerHex(log.data),
    blockNumber: BigInt(log.blockNumber),
    blockHash: lowerHex(log.blockHash),
    transactionHash: lowerHex(log.transactionHash),
    logIndex: Number(log.logIndex),
  };
}
