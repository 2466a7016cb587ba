import { type AbiParameter, decodeAbiParameters, toEventSelector } from "viem";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { toStorable } from "../../../kernel/text/storable.ts";
import type { ChainLog } from "../../watcher/log-handler.ts";
import type { SealedKey } from "../sealed-keys/sealed-key.ts";

/** The supported generations of agent contracts: that of SPEC 2.5, and its successor (facts: router-and-chain 3). */
export const AGENT_GENERATIONS = ["agent-nft", "agentic-id"] as const;
export type AgentGeneration = (typeof AGENT_GENERATIONS)[number];

/** A piece of a token's data: a description, and the hash of its ciphertext, which may be a storage root. */
export type IntelligentData = { readonly description: string; readonly dataHash: Hex };

/** A decoded log of an agent contract, the same for every generation. Addresses are in lower case. */
export type AgentEvent =
  | { readonly kind: "transferred"; readonly tokenId: bigint; readonly from: Hex; readonly to: Hex }
  | ({ readonly kind: "key-published" } & Pick<SealedKey, "tokenId" | "to" | "keys" | "keyCount">)
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

/** An event and its position in the chain. */
export type PlacedAgentEvent = AgentEvent & {
  readonly log: Pick<ChainLog, "address" | "blockNumber" | "logIndex" | "blockHash" | "transactionHash">;
};

/** Decodes one kind of log. Throws if the log's layout does not match the event. */
export type LogReader = (log: ChainLog) => readonly AgentEvent[];

/** The readers of a generation, by the first topic of their event. */
export type LogReaders = ReadonlyMap<Hex, LogReader>;

/** Maps readers, given by Solidity event signature, to the first topics of their events. */
export function readersOf(readers: Readonly<Record<string, LogReader>>): LogReaders {
  return new Map(
    Object.entries(readers).map(([event, read]) => [lowerHex(toEventSelector(`event ${event}`)), read]),
  );
}

/** The `n`-th indexed argument of a log as an address, counted from 1. */
export function addressAt(log: ChainLog, n: number): Hex {
  return `0x${topicAt(log, n).slice(26)}`;
}

/** The `n`-th indexed argument of a log as a number, counted from 1. */
export function numberAt(log: ChainLog, n: number): bigint {
  return BigInt(topicAt(log, n));
}

/** The non-indexed arguments of a log. */
export function dataOf<const Parameters extends readonly AbiParameter[]>(
  log: ChainLog,
  parameters: Parameters,
) {
  return decodeAbiParameters(parameters, log.data);
}

/** A piece of data as stored: text that PostgreSQL accepts, of limited length. */
export function toIntelligentData(raw: {
  readonly dataDescription: string;
  readonly dataHash: Hex;
}): IntelligentData {
  return {
    description: toStorable(raw.dataDescription, MAX_DESCRIPTION),
    dataHash: lowerHex(raw.dataHash),
  };
}

/** Published keys as stored: at most 256, each truncated to 4 KiB. Some generations do not publish the data's hash. */
export function toSealedKeys(
  raw: readonly { readonly dataHash?: Hex; readonly sealedKey: Hex }[],
): Pick<SealedKey, "keys" | "keyCount"> {
  const keys = raw.slice(0, MAX_KEYS).map(({ dataHash, sealedKey }) => {
    const sizeBytes = (sealedKey.length - 2) / 2;
    return {
      dataHash: dataHash ? lowerHex(dataHash) : null,
      key: lowerHex(sealedKey.slice(0, 2 + 2 * MAX_KEY_BYTES)),
      sizeBytes,
      truncated: sizeBytes > MAX_KEY_BYTES,
    };
  });
  return { keys, keyCount: raw.length };
}

const MAX_DESCRIPTION = 4_096;
/** The most keys stored of one event, and the most bytes of each key (promises F44). */
const MAX_KEYS = 256;
const MAX_KEY_BYTES = 4_096;

function topicAt({ topics }: ChainLog, n: number): Hex {
  const topic = topics[n];
  if (!topic) throw new Error(`a log of ${topics[0]} lacks its argument ${n}`);
  return topic;
}
