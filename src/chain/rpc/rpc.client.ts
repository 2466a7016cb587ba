import {
  BlockNotFoundError,
  createPublicClient,
  createTransport,
  type HttpRequestError,
  numberToHex,
  type PublicClient,
  type RpcLog,
  RpcRequestError,
} from "viem";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { type Hex, isAddress, isHash32, lowerHex } from "../../kernel/text/hex.ts";
import type { ChainBlock, ChainLog } from "../watcher/log-handler.ts";
import { askInTurn, type EndpointStatus, isViemError, RpcEndpoint } from "./rpc-endpoint.ts";

/** Which logs: of these contracts, with one of these first topics, in a range of blocks or in exactly one block. */
export type LogFilter = {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  readonly where: { readonly from: bigint; readonly to: bigint } | { readonly blockHash: Hex };
};

/** The chain, over one or several RPC endpoints. Every failure of theirs is a `chain_error`. */
export type Rpc = {
  /** For typed contract reads; map its errors with `chainError`. */
  readonly client: PublicClient;
  readonly chainId: number;
  /**
   * Asks every endpoint for its chain id. One of another chain is left out, and so is one that does not answer; throws
   * a line for the operator when none is left.
   */
  verifyChain(): Promise<void>;
  /** How each endpoint fares, in the order of the configuration. */
  endpoints(): readonly EndpointStatus[];
  /** The newest block. */
  head(): Promise<ChainBlock>;
  /** The block at a height, undefined if the endpoint has none there. */
  block(number: bigint): Promise<ChainBlock | undefined>;
  /** The newest block that the chain calls final, undefined for an endpoint that knows no such block. */
  finalized(): Promise<bigint | undefined>;
  logs(filter: LogFilter): Promise<readonly ChainLog[]>;
};

type Options = {
  readonly urls: readonly string[];
  /** As `NETWORK` names it, for what is said to the operator. */
  readonly network: string;
  readonly chainId: number;
  readonly timeoutMs?: number;
  readonly pollMs?: number;
  readonly log: Logger;
};

const TOO_MANY_REQUESTS = -32_005;

/**
 * Speaks to the endpoints in their order: the next one is asked when one fails, and none whose chain id is not
 * `chainId`. Nothing is sent before the first call.
 */
export function createRpc({ urls, network, chainId, timeoutMs = 10_000, pollMs = 2_000, log }: Options): Rpc {
  const endpoints = urls.map((url) => new RpcEndpoint({ url, network, chainId, timeoutMs, log }));
  const client = createPublicClient({
    // Retried over all endpoints, not at each: a call may then say that it wants no retry (`logs` does, to halve at once).
    transport: () =>
      createTransport({
        key: "endpoints",
        name: "RPC endpoints in turn",
        type: "endpoints",
        retryCount: 1,
        retryDelay: 100,
        request: (call) => askInTurn(endpoints, call) as Promise<never>,
      }),
    cacheTime: 0,
    pollingInterval: pollMs,
  });
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
    head: () => atBorder("the newest block", async () => toBlock(await client.getBlock())),
    block: (number) =>
      atBorder(`block ${number}`, async () => {
        try {
          return toBlock(await client.getBlock({ blockNumber: number }));
        } catch (error) {
          if (error instanceof BlockNotFoundError) return undefined;
          throw error;
        }
      }),
    finalized: () =>
      atBorder("the final block", async () => {
        try {
          return toBlock(await client.getBlock({ blockTag: "finalized" })).number;
        } catch (error) {
          if (error instanceof BlockNotFoundError || isRefusal(error)) return undefined;
          throw error;
        }
      }),
    logs: (filter) =>
      atBorder("logs", async () => {
        const range =
          "blockHash" in filter.where
            ? { blockHash: filter.where.blockHash }
            : { fromBlock: numberToHex(filter.where.from), toBlock: numberToHex(filter.where.to) };
        const query = { address: [...filter.addresses], topics: [[...filter.topics]], ...range };
        const logs = await client.request({ method: "eth_getLogs", params: [query] }, { retryCount: 0 });
        return logs.filter(({ removed }) => !removed).map(toLog);
      }),
  };
}

/** The `chain_error` for whatever viem threw; it is kept as the cause, and its text is not shown. */
export function chainError(what: string, cause: unknown): AppError {
  return cause instanceof AppError
    ? cause
    : new AppError("chain_error", `The chain's RPC failed: ${what}.`, { cause });
}

/** Whether an endpoint refused a range of blocks (too long, too many logs, too slow), so that half of it may pass. */
export function isRangeRefused(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error;
  if (!isViemError(cause)) return false;
  const http = cause.walk((inner) => (inner as Error).name === "HttpRequestError") as HttpRequestError | null;
  if (http) return http.status === 400 || http.status === 413;
  return cause.walk((inner) => ["RpcRequestError", "TimeoutError"].includes((inner as Error).name)) !== null;
}

/** Whether an endpoint answered that it cannot do what it was asked. One that was asked too often may do it later. */
function isRefusal(error: unknown): boolean {
  const isOne = (inner: unknown) => inner instanceof RpcRequestError && inner.code !== TOO_MANY_REQUESTS;
  return isViemError(error) && error.walk(isOne) !== null;
}

async function atBorder<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw chainError(what, error);
  }
}

function toBlock(block: {
  number: bigint | null;
  hash: Hex | null;
  parentHash: Hex;
  timestamp: bigint;
}): ChainBlock {
  if (typeof block.number !== "bigint" || !block.hash || !isHash32(block.hash) || !isHash32(block.parentHash))
    throw new AppError("chain_error", "The chain's RPC answered a block that is none.");
  return {
    number: block.number,
    hash: lowerHex(block.hash),
    parentHash: lowerHex(block.parentHash),
    timestamp: new Date(Number(block.timestamp) * 1_000),
  };
}

function toLog(log: RpcLog): ChainLog {
  if (!log.blockNumber || !log.logIndex || !log.blockHash || !log.transactionHash || !isAddress(log.address))
    throw new AppError("chain_error", "The chain's RPC answered a log that is none.");
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
