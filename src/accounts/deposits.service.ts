import {
  CannotRevert,
  type ChainLog,
  type LogHandler,
  type RevertReason,
} from "../chain/watcher/log-handler.ts";
import type { Queries } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import type { Page, PageRequest } from "../kernel/page.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { newId } from "../kernel/text/ids.ts";
import {
  confirmSeen,
  type DepositChange,
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

/** A deposit for its account to see. `confirmations` is how many blocks that were read follow its own. */
export type Deposit = StoredDeposit & {
  readonly confirmations: number;
  readonly requiredConfirmations: number;
};

type Dependencies = {
  readonly queries: Queries;
  readonly chainId: number;
  /** The vault's address and how it says that money came in. */
  readonly vault: VaultEventConfig & { readonly address: Hex };
  /** How many blocks must follow a deposit's before it is credited; the watcher's own number. */
  readonly confirmations: number;
  /** The newest block whose deposits are here. */
  readonly scannedBlock: () => Promise<bigint | undefined>;
};

/**
 * Takes deposits from the logs of the router's vault and credits each exactly once, when it is deep enough. Until
 * then it is shown as `seen`, and a reorganisation makes it `reverted`. What was credited is never taken back.
 */
export class DepositsService implements LogHandler {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  readonly #dependencies: Dependencies;
  readonly #event: VaultEvent;

  /** Throws a line for the operator when the configured event makes no sense. */
  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#event = parseVaultEvent(dependencies.vault);
    this.addresses = [lowerHex(dependencies.vault.address)];
    this.topics = [this.#event.topic];
  }

  async apply(tx: Queries, logs: readonly ChainLog[]): Promise<void> {
    const deposits = logs
      .map((log) => ({
        id: newId(),
        chainId: this.#dependencies.chainId,
        ...log,
        ...this.#event.decode(log),
      }))
      .filter(({ amount }) => amount > 0n);
    const accounts = new Set(deposits.map(({ account }) => account));
    for (const account of [...accounts].sort()) await openAccount(tx, account);
    await tellOf(tx, await insertSeen(tx, await withoutOrphans(tx, deposits)), "seen");
  }

  async revert(tx: Queries, from: bigint, reason: RevertReason): Promise<void> {
    // A development chain that began anew takes no money back: what it gave is play money.
    if (reason === "reorg" && (await hasConfirmed(tx, this.#dependencies.chainId, from)))
      throw new CannotRevert(`a credited deposit of block ${from} or above is gone from the chain`);
    // What was credited stays credited, and must not be again should its transaction come back.
    if (reason === "accepted") await markConfirmedReverted(tx, this.#dependencies.chainId, from);
    await tellOf(tx, await revertSeen(tx, this.#dependencies.chainId, from), "reverted");
  }

  async confirm(tx: Queries, upTo: bigint): Promise<void> {
    const confirmed = await confirmSeen(tx, this.#dependencies.chainId, upTo);
    for (const { id, account, amount } of confirmed)
      await creditDeposit(tx, { account, amount, transferId: `deposit:${id}` });
    await tellOf(tx, confirmed, "confirmed");
  }

  /** An account's deposits, newest first, reverted ones among them. */
  async list(account: Hex, page: PageRequest): Promise<Page<Deposit>> {
    const [deposits, scanned] = await Promise.all([
      listDeposits(this.#dependencies.queries, lowerHex(account), page),
      this.#dependencies.scannedBlock(),
    ]);
    return { ...deposits, rows: deposits.rows.map((row) => this.#toDeposit(row, scanned)) };
  }

  /** One deposit, undefined if there is none with this id. */
  async byId(id: string): Promise<Deposit | undefined> {
    const deposit = await findDeposit(this.#dependencies.queries, id);
    return deposit && this.#toDeposit(deposit, await this.#dependencies.scannedBlock());
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

async function tellOf(tx: Queries, changes: readonly DepositChange[], status: DepositStatus): Promise<void> {
  await appendEvents(
    tx,
    changes.map(({ id, account, amount }) => ({
      topic: "deposit.seen",
      subject: account,
      data: { account, depositId: id, amount: amount.toString(), status },
    })),
  );
}
