import type { Queries } from "../../../db/database.ts";
import { appendEvents, type NewEvent } from "../../../events/outbox.ts";
import { mapInTurns } from "../../../kernel/async/map-in-turns.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { ChainLog, LogHandler } from "../../watcher/log-handler.ts";
import type { Mark } from "../../watcher/log-watcher.store.ts";
import type { AgentContract } from "../contracts/agent-contracts.ts";
import { toSealedKeyEvent } from "../sealed-keys/sealed-key.ts";
import { forgetRevertedKeys } from "../sealed-keys/sealed-keys.store.ts";
import { forgetRevertedEvents } from "../tokens/token-events.store.ts";
import type { ContractKey } from "../tokens/token-rows.ts";
import { toChanges, tokensToKnow } from "./agent-changes.ts";
import type { LogReaders, PlacedAgentEvent } from "./agent-event.ts";
import { agentNftReaders } from "./agent-nft-events.ts";
import { agenticIdReaders } from "./agentic-id-events.ts";
import {
  type AppliedChanges,
  newestChangedBlock,
  readDatas,
  revertChanges,
  type TransferChange,
  writeChanges,
} from "./agents.store.ts";

type Dependencies = { readonly chainId: number; readonly contract: AgentContract };

const READERS = { "agent-nft": agentNftReaders, "agentic-id": agenticIdReaders } as const;

/**
 * Stores one contract's agent tokens from its logs: owners, data, authorised users and sealed keys.
 * Publishes transfers and sealed keys, and publishes them again as `removed` when a reorg reverts them.
 */
export class AgentLogService implements LogHandler {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  readonly #readers: LogReaders;
  readonly #key: ContractKey;

  constructor({ chainId, contract }: Dependencies) {
    this.#readers = READERS[contract.generation];
    this.#key = { chainId, contract: contract.address };
    this.addresses = [contract.address];
    this.topics = [...this.#readers.keys()];
  }

  async apply(tx: Queries, logs: readonly ChainLog[]): Promise<void> {
    const events = await this.#read(logs);
    const known = await readDatas(tx, this.#key, tokensToKnow(events));
    await this.#publish(tx, await writeChanges(tx, this.#key, toChanges(events, known)), false);
  }

  async revert(tx: Queries, from: bigint): Promise<void> {
    await this.#publish(tx, await revertChanges(tx, this.#key, from), true);
  }

  newestBlock(queries: Queries, upTo: bigint): Promise<Mark | undefined> {
    return newestChangedBlock(queries, this.#key, upTo);
  }

  async confirm(tx: Queries): Promise<void> {
    await forgetRevertedKeys(tx);
    await forgetRevertedEvents(tx);
  }

  /** Drops duplicates: an endpoint may return a log twice. */
  async #read(logs: readonly ChainLog[]): Promise<readonly PlacedAgentEvent[]> {
    const seen = new Set<string>();
    const events = await mapInTurns(logs, (log) => {
      const place = `${log.blockNumber} ${log.logIndex}`;
      const read = this.#readers.get(log.topics[0] ?? "0x");
      if (!read || seen.has(place)) return [];
      seen.add(place);
      return read(log).map((event) => ({ ...event, log }));
    });
    return events.flat();
  }

  async #publish(tx: Queries, { transfers, keys }: AppliedChanges, removed: boolean): Promise<void> {
    const { contract } = this.#key;
    const events = [
      ...transfers.map((row) => toTransferEvent(contract, row, removed)),
      ...keys.map(toSealedKeyEvent),
    ];
    // Reverted events are published in reverse order.
    const sign = removed ? -1 : 1;
    events.sort(
      ({ data: one }, { data: other }) =>
        sign * (Number(BigInt(one.blockNumber) - BigInt(other.blockNumber)) || one.logIndex - other.logIndex),
    );
    await appendEvents(tx, events);
  }
}

/** The subject of a token's transfer events, which are ordered per subject. */
export function tokenSubject(contract: Hex, tokenId: string | bigint): string {
  return `${contract}:${tokenId}`;
}

function toTransferEvent(
  contract: Hex,
  row: TransferChange,
  removed: boolean,
): NewEvent<"token.transferred"> {
  return {
    topic: "token.transferred",
    subject: tokenSubject(contract, row.token_id),
    data: {
      contract,
      tokenId: row.token_id,
      from: row.sender,
      to: row.receiver,
      withKey: row.with_key,
      blockNumber: row.block_number,
      logIndex: row.log_index,
      transactionHash: row.transaction_hash,
      removed,
    },
  };
}
