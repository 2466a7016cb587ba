import type { Hex } from "../../kernel/text/hex.ts";
import type { AgentEvent, IntelligentData, PlacedAgentEvent } from "./agent-event.ts";
import type { NewSealedKey } from "./sealed-key.ts";
import { ZERO_ADDRESS } from "./token-rows.ts";

/** A position in the chain, as stored in rows. */
export type Place = { readonly block_number: string; readonly log_index: number };
type Origin = Place & { readonly block_hash: Hex; readonly transaction_hash: Hex };
/** A row that is valid until its end; null means it has not ended. */
type TemporalRow = Origin & { ended_block: string | null; ended_log: number | null };

type TransferRow = TemporalRow & { token_id: string; sender: Hex; receiver: Hex; with_key: boolean };
type DataRow = TemporalRow & { token_id: string; datas: readonly IntelligentData[] };
type CreatorRow = TemporalRow & { token_id: string; creator: Hex };
type DelegationRow = TemporalRow & { user_address: Hex; assistant: Hex };
export type AuthorizationEnd = "revoked" | "cleared" | "transferred";
type AuthorizationRow = TemporalRow & {
  token_id: string;
  authorized_by: Hex;
  user_address: Hex;
  end_reason: AuthorizationEnd | null;
};
type CloneRow = Origin & { token_id: string; new_token_id: string; sender: Hex; receiver: Hex };

/** Ends of rows stored before this page. */
type TokenEnd = Place & { readonly token_id: string };
type UserEnd = Place & { readonly user_address: Hex };
type GrantEnd = Place & {
  readonly token_id: string;
  /** Null ends the grants of every user. */
  readonly user_address: Hex | null;
  readonly reason: AuthorizationEnd;
};

/** The row changes of a page of logs: rows that end, and new rows. Ends are applied first. */
export type AgentChanges = {
  readonly transfers: Line<TransferRow, TokenEnd>;
  readonly datas: Line<DataRow, TokenEnd>;
  readonly creators: Line<CreatorRow, TokenEnd>;
  readonly delegations: Line<DelegationRow, UserEnd>;
  readonly authorizations: Line<AuthorizationRow, GrantEnd>;
  readonly clones: readonly CloneRow[];
  readonly keys: readonly NewSealedKey[];
};
export type Line<Row, End> = { readonly ends: readonly End[]; readonly rows: readonly Row[] };

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
  return reducer.changes();
}

/** Rows of which one per key is valid at a time: each ends where the next begins. */
class VersionedRows<Row extends TemporalRow> {
  readonly rows: Row[] = [];
  readonly #newest = new Map<string, Row>();
  /** By key, the first new row: it ends the row stored before the page. */
  readonly firsts = new Map<string, Row>();

  put(key: string, row: Row): void {
    const before = this.#newest.get(key);
    if (before) end(before, row);
    else this.firsts.set(key, row);
    this.#newest.set(key, row);
    this.rows.push(row);
  }
}

class LogReducer {
  readonly #transfers = new VersionedRows<TransferRow>();
  readonly #datas = new VersionedRows<DataRow>();
  readonly #creators = new VersionedRows<CreatorRow>();
  readonly #delegations = new VersionedRows<DelegationRow>();
  readonly #grants: AuthorizationRow[] = [];
  readonly #openGrants = new Map<string, Map<Hex, AuthorizationRow>>();
  readonly #grantEnds = new Map<string, GrantEnd>();
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
        this.#authorized(event, origin);
        break;
      case "revoked":
        this.#endGrants(event.tokenId, event.user, "revoked", origin);
        break;
      case "cleared":
        this.#endGrants(event.tokenId, null, "cleared", origin);
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

  changes(): AgentChanges {
    return {
      transfers: { ends: tokenEnds(this.#transfers.firsts), rows: this.#transfers.rows },
      datas: { ends: tokenEnds(this.#datas.firsts), rows: this.#datas.rows },
      creators: { ends: tokenEnds(this.#creators.firsts), rows: this.#creators.rows },
      delegations: {
        ends: [...this.#delegations.firsts.values()].map((row) => ({
          ...placeOf(row),
          user_address: row.user_address,
        })),
        rows: this.#delegations.rows,
      },
      authorizations: { ends: [...this.#grantEnds.values()], rows: this.#grants },
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
    this.#endGrants(tokenId, null, "transferred", origin);
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

  #authorized({ tokenId, by, user }: Of<"authorized">, origin: Origin): void {
    const token_id = tokenId.toString();
    const open = this.#openGrants.get(token_id) ?? new Map<Hex, AuthorizationRow>();
    this.#openGrants.set(token_id, open);
    if (open.has(user)) return;
    const row = {
      ...openRow(origin),
      token_id,
      authorized_by: by,
      user_address: user,
      end_reason: null,
    };
    open.set(user, row);
    this.#grants.push(row);
  }

  #endGrants(tokenId: bigint, user: Hex | null, reason: AuthorizationEnd, place: Place): void {
    const token_id = tokenId.toString();
    const open = this.#openGrants.get(token_id);
    for (const [holder, row] of open ?? [])
      if (user === null || user === holder) {
        end(row, place);
        row.end_reason = reason;
        open?.delete(holder);
      }
    // For rows stored before the page, the first end applies.
    const key = `${token_id} ${user ?? ""}`;
    if (!this.#grantEnds.has(key))
      this.#grantEnds.set(key, { ...placeOf(place), token_id, user_address: user, reason });
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

function openRow(origin: Origin): TemporalRow {
  return { ...origin, ended_block: null, ended_log: null };
}

function end(row: TemporalRow, at: Place): void {
  row.ended_block = at.block_number;
  row.ended_log = at.log_index;
}

function placeOf({ block_number, log_index }: Place): Place {
  return { block_number, log_index };
}

function tokenEnds(firsts: ReadonlyMap<string, Place>): readonly TokenEnd[] {
  return [...firsts].map(([token_id, place]) => ({ ...placeOf(place), token_id }));
}

function replaced(
  datas: readonly IntelligentData[],
  { index, data }: Of<"datum-set">,
): readonly IntelligentData[] {
  return datas.map((old, n) => (n === index ? data : old));
}
