import {
  CannotRevert,
  type ChainLog,
  type LogHandler,
  type RevertReason,
} from "../chain/watcher/log-handler.ts";
import type { Mark } from "../chain/watcher/log-watcher.store.ts";
import { queriesOf } from "../db/account-queries.ts";
import type { RowCount } from "../db/count-rows.ts";
import type { Database, Queries } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import { mapInTurns } from "../kernel/async/map-in-turns.ts";
import type { Page, PageRequest } from "../kernel/page.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { newId } from "../kernel/text/ids.ts";
import { newestDepositBlock } from "./deposit-blocks.store.ts";
import {
  confirmSeen,
  countDeposits,
  type DepositChange,
  type DepositFilter,
  type DepositStatus,
  findDeposit,
  hasConfirmed,
  insertSeen,
  listDeposits,
  markConfirmedReverted,
  revertSeen,
  type StoredDeposit,
  withoutOrphans,
} from "./deposits.store.ts";
import { creditDeposit, openAccount } from "./ledger.store.ts";
import { parseVaultEvent, type VaultEvent, type VaultEventConfig } from "./vault-event.ts";

export type { DepositFilter } from "./deposits.store.ts";

/** A deposit as its account sees it. `confirmations` is the number of scanned blocks after its own. */
export type Deposit = StoredDeposit & {
  readonly confirmations: number;
  readonly requiredConfirmations: number;
};

/** How a list is read: the filter, and a signal that cancels it. */
type ListOptions = { readonly filter?: DepositFilter; readonly signal?: AbortSignal | undefined };

type Dependencies = {
  readonly database: Pick<Database, "rows" | "reads">;
  readonly chainId: number;
  /** The vault's address and its deposit event. */
  readonly vault: VaultEventConfig & { readonly address: Hex };
  /** How many blocks must follow a deposit's before it is credited; the same number as the watcher's. */
  readonly confirmations: number;
  /** The newest block whose deposits are stored. */
  readonly scannedBlock: () => Promise<bigint | undefined>;
};

/**
 * Reads deposits from the logs of the router's vault and credits each exactly once, when it has enough confirmations.
 * Until then its status is `seen`, and a reorg makes it `reverted`. A credited deposit is never debited again.
 */
export class DepositsService implements LogHandler {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  readonly #dependencies: Dependencies;
  readonly #event: VaultEvent;

  /** Throws a message for the operator if the configured event is invalid. */
  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#event = parseVaultEvent(dependencies.vault);
    this.addresses = [lowerHex(dependencies.vault.address)];
    this.topics = [this.#event.topic];
  }

  async apply(tx: Queries, logs: readonly ChainLog[]): Promise<void> {
    // Deposits read together are seen at the same time, and listed and published by their ids.
    const ids = logs.map(newId).sort();
    const decoded = await mapInTurns(logs, (log) => ({ ...log, ...this.#event.decode(log) }));
    const deposits = decoded
      .map((log, at) => ({ id: ids[at] as string, chainId: this.#dependencies.chainId, ...log }))
      .filter(({ amount }) => amount > 0n);
    const accounts = new Set(deposits.map(({ account }) => account));
    for (const account of [...accounts].sort()) await openAccount(tx, account);
    await publishDeposits(tx, await insertSeen(tx, await withoutOrphans(tx, deposits)), "seen");
  }

  async revert(tx: Queries, from: bigint, reason: RevertReason): Promise<void> {
    // A restarted development chain reverts no credit: its money is worthless.
    if (reason === "reorg" && (await hasConfirmed(tx, this.#dependencies.chainId, from)))
      throw new CannotRevert(`a credited deposit of block ${from} or above is gone from the chain`);
    // A credited deposit stays credited, and must not be credited again if its transaction is mined again.
    if (reason === "accepted") await markConfirmedReverted(tx, this.#dependencies.chainId, from);
    await publishDeposits(tx, await revertSeen(tx, this.#dependencies.chainId, from), "reverted");
  }

  newestBlock(queries: Queries, upTo: bigint): Promise<Mark | undefined> {
    return newestDepositBlock(queries, this.#dependencies.chainId, upTo);
  }

  async confirm(tx: Queries, upTo: bigint): Promise<void> {
    const confirmed = await confirmSeen(tx, this.#dependencies.chainId, upTo);
    for (const { id, account, amount } of confirmed)
      await creditDeposit(tx, { account, amount, transferId: `deposit:${id}` });
    await publishDeposits(tx, confirmed, "confirmed");
  }

  /** An account's deposits that a filter matches, newest first, including reverted ones. Throws what `AccountReads` throws. */
  async list(account: Hex, page: PageRequest, { filter, signal }: ListOptions = {}): Promise<Page<Deposit>> {
    const [deposits, scanned] = await Promise.all([
      listDeposits(this.#queries(account, filter, signal), lowerHex(account), page, filter),
      this.#dependencies.scannedBlock(),
    ]);
    return { ...deposits, rows: deposits.rows.map((row) => this.#toDeposit(row, scanned)) };
  }

  /** How many deposits of an account a filter matches, including reverted ones. Throws what `AccountReads` throws. */
  count(account: Hex, { filter, signal }: ListOptions = {}): Promise<RowCount> {
    return countDeposits(this.#queries(account, filter, signal), lowerHex(account), filter);
  }

  /** One deposit; undefined for an unknown id. */
  async byId(id: string): Promise<Deposit | undefined> {
    const deposit = await findDeposit(this.#dependencies.database, id);
    return deposit && this.#toDeposit(deposit, await this.#dependencies.scannedBlock());
  }

  /** A condition that no index covers may read all deposits of the account. */
  #queries(account: Hex, filter: DepositFilter = {}, signal?: AbortSignal): Queries {
    const { database } = this.#dependencies;
    const isCovered = Object.values(filter).every((value) => value === undefined);
    return isCovered ? database : queriesOf({ reads: database.reads, account: lowerHex(account), signal });
  }

  #toDeposit(deposit: StoredDeposit, scanned: bigint | undefined): Deposit {
    const { blockNumber, status } = deposit;
    const stands = status !== "reverted" && scanned !== undefined && scanned > blockNumber;
    return {
      ...deposit,
      confirmations: stands ? Number(scanned - blockNumber) : 0,
      requiredConfirmations: this.#dependencies.confirmations,
    };
  }
}

async function publishDeposits(
  tx: Queries,
  changes: readonly DepositChange[],
  status: DepositStatus,
): Promise<void> {
  await appendEvents(
    tx,
    changes.map(({ id, account, amount }) => ({
      topic: "deposit.seen",
      subject: account,
      data: { account, depositId: id, amount: amount.toString(), status },
    })),
  );
}
