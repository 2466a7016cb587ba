import type { Hex } from "../../../kernel/text/hex.ts";
import type { NewSealedKey } from "../sealed-keys/sealed-key.ts";
import { type TokenEventRow, toTokenEventRows } from "../tokens/token-event-rows.ts";
import { ZERO_ADDRESS } from "../tokens/token-rows.ts";
import type { AgentEvent, IntelligentData, PlacedAgentEvent } from "./agent-event.ts";
import {
  type AuthorizationEnds,
  type AuthorizationRow,
  AuthorizationRows,
  type Origin,
  openRow,
  type Place,
  type TableChanges,
  type TemporalRow,
  VersionedRows,
} from "./temporal-rows.ts";

type TokenColumn = { readonly token_id: string };
type TransferRow = TemporalRow & { token_id: string; sender: Hex; receiver: Hex; with_key: boolean };
type DataRow = TemporalRow & { token_id: string; datas: readonly IntelligentData[] };
type CreatorRow = TemporalRow & { token_id: string; creator: Hex };
type DelegationRow = TemporalRow & { user_address: Hex; assistant: Hex };
type CloneRow = Origin & { token_id: string; new_token_id: string; sender: Hex; receiver: Hex };

/** The row changes of a page of logs: rows that end, and new rows. Ends are applied first. */
export type AgentChanges = {
  readonly transfers: TableChanges<TransferRow, Place & TokenColumn>;
  readonly datas: TableChanges<DataRow, Place & TokenColumn>;
  readonly creators: TableChanges<CreatorRow, Place & TokenColumn>;
  readonly delegations: TableChanges<DelegationRow, Place & { readonly user_address: Hex }>;
  readonly authorizations: TableChanges<AuthorizationRow, AuthorizationEnds>;
  readonly clones: readonly CloneRow[];
  readonly keys: readonly NewSealedKey[];
  /** The events themselves, as the history of their tokens. */
  readonly events: readonly TokenEventRow[];
};

const MAX_DATAS = 1_000;

/** The ids of tokens whose data must be loaded before their events can be reduced. */
export function tokensToKnow(events: readonly PlacedAgentEvent[]): readonly bigint[] {
  const needed = events.filter(({ kind }) => kind === "key-published" || kind === "datum-set");
  return [...new Set(needed.map((event) => ("tokenId" in event ? event.tokenId : 0n)))];
}

/**
 * Reduces one contract's events, in chain order, to row changes. `known` is the data that the tokens of `tokensToKnow`
 * had before the first event. A page must contain all logs of a transaction.
 */
export function toChanges(
  events: readonly PlacedAgentEvent[],
  known: ReadonlyMap<bigint, readonly IntelligentData[]>,
): AgentChanges {
  const reducer = new LogReducer(known);
  for (const event of events) reducer.apply(event);
  const changes = reducer.changes();
  const { transfers, keys } = changes;
  return { ...changes, events: toTokenEventRows(events, transfers.rows, keys) };
}

class LogReducer {
  readonly #transfers = new VersionedRows<TransferRow>();
  readonly #datas = new VersionedRows<DataRow>();
  readonly #creators = new VersionedRows<CreatorRow>();
  readonly #delegations = new VersionedRows<DelegationRow>();
  readonly #authorizations = new AuthorizationRows();
  readonly #clones: CloneRow[] = [];
  readonly #keys: NewSealedKey[] = [];
  readonly #known: ReadonlyMap<bigint, readonly IntelligentData[]>;
  readonly #current = new Map<bigint, readonly IntelligentData[]>();
  /** The transfers and clones of the current transaction. */
  #transaction: { hash: Hex | undefined; transfers: TransferRow[]; clones: CloneRow[] } = {
    hash: undefined,
    transfers: [],
    clones: [],
  };

  constructor(known: ReadonlyMap<bigint, readonly IntelligentData[]>) {
    this.#known = known;
  }

  apply(event: PlacedAgentEvent): void {
    const { transactionHash } = event.log;
    if (this.#transaction.hash !== transactionHash)
      this.#transaction = { hash: transactionHash, transfers: [], clones: [] };
    const origin = toOrigin(event);
    switch (event.kind) {
      case "transferred":
        this.#transferred(event, origin);
        break;
      case "key-published":
        this.#published(event);
        break;
      case "data-set":
        this.#setData(event.tokenId, event.datas, origin);
        break;
      case "datum-set":
        this.#setData(event.tokenId, replaced(this.#dataOf(event.tokenId), event), origin);
        break;
      case "authorized":
        this.#authorizations.begin(String(event.tokenId), event.by, event.user, origin);
        break;
      case "revoked":
        this.#authorizations.end(String(event.tokenId), event.user, "revoked", origin);
        break;
      case "cleared":
        this.#authorizations.end(String(event.tokenId), null, "cleared", origin);
        break;
      case "delegated":
        this.#delegated(event, origin);
        break;
      case "creator-set":
        this.#createdBy(event, origin);
        break;
      case "cloned":
        this.#cloned(event, origin);
        break;
    }
  }

  changes(): Omit<AgentChanges, "events"> {
    return {
      transfers: this.#transfers.changes(tokenOf),
      datas: this.#datas.changes(tokenOf),
      creators: this.#creators.changes(tokenOf),
      delegations: this.#delegations.changes(({ user_address }) => ({ user_address })),
      authorizations: this.#authorizations.changes(),
      clones: this.#clones,
      keys: this.#keys,
    };
  }

  #transferred({ tokenId, from, to }: Of<"transferred">, origin: Origin): void {
    const token_id = tokenId.toString();
    const row = { ...openRow(origin), token_id, sender: from, receiver: to, with_key: false };
    this.#transfers.put(token_id, row);
    this.#transaction.transfers.push(row);
    // The contract clears the authorised users with every transfer, without an event.
    this.#authorizations.end(token_id, null, "transferred", origin);
  }

  /** Matches the transaction's newest transfer to this receiver, whose callback may have moved the token on since. */
  #published({ tokenId, to, keys, keyCount, log }: Of<"key-published">): void {
    const token_id = tokenId.toString();
    const own = this.#transaction.transfers.findLast(
      (row) => row.token_id === token_id && row.receiver === to && !row.with_key,
    );
    if (own) own.with_key = true;
    const clone = this.#transaction.clones.find((row) => row.new_token_id === token_id);
    const minted = own === undefined || own.sender === ZERO_ADDRESS;
    const datas = this.#dataOf(tokenId);
    this.#keys.push({
      id: `${log.blockHash}-${log.logIndex}`,
      contract: log.address,
      tokenId,
      from: clone?.sender ?? (minted ? null : own.sender),
      to,
      cause: clone ? "clone" : own?.sender === ZERO_ADDRESS ? "mint" : "transfer",
      keys: keys.map((key, index) => ({
        ...key,
        dataHash: key.dataHash ?? datas[index]?.dataHash ?? null,
      })),
      keyCount,
      blockNumber: log.blockNumber,
      blockHash: log.blockHash,
      transactionHash: log.transactionHash,
      logIndex: log.logIndex,
    });
  }

  #setData(tokenId: bigint, datas: readonly IntelligentData[], origin: Origin): void {
    const token_id = tokenId.toString();
    const stored = datas.slice(0, MAX_DATAS);
    this.#current.set(tokenId, stored);
    this.#datas.put(token_id, { ...openRow(origin), token_id, datas: stored });
  }

  #dataOf(tokenId: bigint): readonly IntelligentData[] {
    return this.#current.get(tokenId) ?? this.#known.get(tokenId) ?? [];
  }

  #delegated({ user, assistant }: Of<"delegated">, origin: Origin): void {
    this.#delegations.put(user, { ...openRow(origin), user_address: user, assistant });
  }

  #createdBy({ tokenId, creator }: Of<"creator-set">, origin: Origin): void {
    const token_id = tokenId.toString();
    this.#creators.put(token_id, { ...openRow(origin), token_id, creator });
  }

  #cloned({ tokenId, newTokenId, from, to }: Of<"cloned">, origin: Origin): void {
    const row = {
      ...origin,
      token_id: tokenId.toString(),
      new_token_id: newTokenId.toString(),
      sender: from,
      receiver: to,
    };
    this.#clones.push(row);
    this.#transaction.clones.push(row);
  }
}

type Of<Kind extends AgentEvent["kind"]> = Extract<PlacedAgentEvent, { kind: Kind }>;

function toOrigin({ log }: PlacedAgentEvent): Origin {
  return {
    block_number: log.blockNumber.toString(),
    log_index: log.logIndex,
    block_hash: log.blockHash,
    transaction_hash: log.transactionHash,
  };
}

/** The column by which rows of a token are found. */
function tokenOf({ token_id }: TokenColumn): TokenColumn {
  return { token_id };
}

function replaced(
  datas: readonly IntelligentData[],
  { index, data }: Of<"datum-set">,
): readonly IntelligentData[] {
  return datas.map((old, n) => (n === index ? data : old));
}
