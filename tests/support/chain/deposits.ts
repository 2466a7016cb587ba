import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { DepositsService } from "../../../src/accounts/deposits.service.ts";
import { findLedgerFaults } from "../../../src/accounts/ledger-checks.store.ts";
import { DEFAULT_VAULT_EVENT } from "../../../src/accounts/vault-event.ts";
import { createRpc } from "../../../src/chain/rpc/rpc.client.ts";
import { readCursor } from "../../../src/chain/watcher/log-watcher.store.ts";
import { LogWatcher, type LogWatcherOptions } from "../../../src/chain/watcher/log-watcher.ts";
import type { Database } from "../../../src/db/database.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { until } from "../until.ts";
import { VAULT } from "./chain.ts";

type Options = Partial<LogWatcherOptions> & {
  readonly urls: readonly string[];
  readonly vault?: Hex;
  readonly event?: string;
};

/** An account that no other test uses. */
export function newAccount(): Hex {
  return `0x${randomBytes(20).toString("hex")}`;
}

/** A watcher over the deposits of a vault, which ends with the test, and its results. */
export function watchDeposits(database: Database, { urls, vault = VAULT, event, ...options }: Options) {
  const { confirmations = 5 } = options;
  const lines: string[] = [];
  const log = createLogger("debug", { write: (line) => void lines.push(line) });
  const rpc = createRpc({
    urls,
    network: "devnet",
    chainId: 16_602,
    timeoutMs: 1_000,
    log,
    ...ageOf(options),
  });
  const deposits = new DepositsService({
    database,
    chainId: 16_602,
    vault: { address: vault, ...DEFAULT_VAULT_EVENT, ...(event ? { event } : {}) },
    confirmations,
    scannedBlock: async () => (await readCursor(database, "deposits"))?.number,
  });
  const needs = { name: "deposits", rpc, database, startBlock: 0n, handlers: [deposits], log, pollMs: 20 };
  const watcher = new LogWatcher({ ...needs, ...options, confirmations });
  onTestFinished(() => watcher.stop());
  return {
    watcher,
    deposits,
    lines,
    async list(account: Hex) {
      return (await deposits.list(account, { first: 100 })).rows;
    },
    /** Waits until this block, or any of its height, is read. */
    scanned: (height: bigint) =>
      until(() => {
        const { scannedBlock, headBlock, state } = watcher.status();
        if (scannedBlock !== height || state !== "following")
          throw new Error(`${state} at block ${scannedBlock} of ${headBlock}, not at ${height}`);
      }),
  };
}

function ageOf({ clock, maxHeadAgeMs }: Partial<LogWatcherOptions>) {
  return { ...(clock && { clock }), maxHeadAgeMs };
}

/** The available balance of the account, neuron. */
export async function balanceOf(database: Database, account: Hex): Promise<bigint> {
  const rows = await database.rows<{ deposit: string }>(
    "select deposit::text as deposit from account where address = $1",
    [account],
  );
  return BigInt(rows[0]?.deposit ?? 0);
}

/** The events of an account in the order in which they were written: `seen`, `confirmed`, `balance`, ... */
export async function eventsOf(database: Database, account: Hex): Promise<readonly string[]> {
  const rows = await database.rows<{ word: string }>(
    "select coalesce(data->>'status', 'balance') as word from outbox where subject = $1 order by id",
    [account],
  );
  return rows.map(({ word }) => word);
}

/** The inconsistencies of the ledger; expected to be empty. */
export function faultsOf(database: Database) {
  return findLedgerFaults(database);
}
