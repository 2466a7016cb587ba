import { type AbiParameter, decodeAbiParameters, toEventSelector } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import type { ChainLog } from "../watcher/log-handler.ts";

/** The generations of agent contracts that we read: that of SPEC 2.5, and its successor (facts: router-and-chain 3). */
export const AGENT_GENERATIONS = ["agent-nft", "agentic-id"] as const;
export type AgentGeneration = (typeof AGENT_GENERATIONS)[number];

/** One piece of a token's data: what it is, and the hash of its ciphertext, which may be a root of the storage network. */
export type IntelligentData = { readonly description: string; readonly dataHash: Hex };

/** A key as it was published: sealed for its receiver. `sizeBytes` is its length on chain; longer ones are kept cut. */
export type SealedKeyEntry = {
  readonly dataHash: Hex | null;
  readonly key: Hex;
  readonly sizeBytes: number;
  readonly truncated: boolean;
};

/** What a log of an agent contract tells, the same for every generation. Addresses are in lower case. */
export type AgentEvent =
  | { readonly kind: "transferred"; readonly tokenId: bigint; readonly from: Hex; readonly to: Hex }
  | {
      readonly kind: "key-published";
      readonly tokenId: bigint;
      readonly to: Hex;
      readonly keys: readonly { readonly dataHash: Hex | null; readonly key: Hex }[];
    }
  | { readonly kind: "data-set"; readonly tokenId: bigint; readonly datas: readonly IntelligentData[] }
  | {
      readonly kind: "datum-set";
      readonly tokenId: bigint;
      readonly index: number;
      readonly data: IntelligentData;
    }
  | { readonly kind: "authorized"; readonly tokenId: bigint; readonly by: Hex; readonly user: Hex }
  | { readonly kind: "revoked"; readonly tokenId: bigint; readonly user: Hex }
  | { readonly kind: "cleared"; readonly tokenId: bigint }
  | { readonly kind: "delegated"; readonly user: Hex; readonly assistant: Hex }
  | {
      readonly kind: "cloned";
      readonly tokenId: bigint;
      readonly newTokenId: bigint;
      readonly from: Hex;
      readonly to: Hex;
    }
  | { readonly kind: "creator-set"; readonly tokenId: bigint; readonly creator: Hex };

/** An event and where the chain has it. */
export type PlacedAgentEvent = AgentEvent & {
  readonly log: Pick<ChainLog, "blockNumber" | "logIndex" | "blockHash" | "transactionHash">;
};

/** Reads one kind of log. Throws for a log that is not laid out as its event is. */
export type LogReader = (log: ChainLog) => readonly AgentEvent[];

/** The readers of a generation by the first topic of their event. */
export type LogReaders = ReadonlyMap<Hex, LogReader>;

/** Puts readers under the first topics of their events, which are named as Solidity writes them. */
export function readersOf(readers: Readonly<Record<string, LogReader>>): LogReaders {
  return new Map(
    Object.entries(readers).map(([event, read]) => [lowerHex(toEventSelector(`event ${event}`)), read]),
  );
}

/** The `n`-th indexed argument of a log as an address, from 1. */
export function addressAt(log: ChainLog, n: number): Hex {
  return `0x${topicAt(log, n).slice(26)}`;
}

/** The `n`-th indexed argument of a log as a number, from 1. */
export function numberAt(log: ChainLog, n: number): bigint {
  return BigInt(topicAt(log, n));
}

/** The arguments of a log that are not indexed. */
export function dataOf<const Parameters extends readonly AbiParameter[]>(
  log: ChainLog,
  parameters: Parameters,
) {
  return decodeAbiParameters(parameters, log.data);
}

/** A piece of data as we keep it: text that PostgreSQL takes, of a length that a page can bear. */
export function toIntelligentData(raw: {
  readonly dataDescription: string;
  readonly dataHash: Hex;
}): IntelligentData {
  return {
    description: raw.dataDescription.slice(0, MAX_DESCRIPTION).replaceAll("\0", "\ufffd").toWellFormed(),
    dataHash: lowerHex(raw.dataHash),
  };
}

const MAX_DESCRIPTION = 4_096;

function topicAt({ topics }: ChainLog, n: number): Hex {
  const topic = topics[n];
  if (!topic) throw new Error(`a log of ${topics[0]} lacks its argument ${n}`);
  return topic;
}
