// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const log = createLogger("silent");

/** Two accounts that deposited and were charged twice each, with their stored sums of usage. */
async function openLedger(): Promise<{ database: Database; ledger: LedgerService }> {
  const database = await openTestDatabase();
  const holds = new HoldsService({ database, log, committed: () => {} });
  const seeded = await Promise.all([seedAccount(database, 1_000n), seedAccount(database, 1_000n)]);
  const ledger = new LedgerService(database);
  expect((await ledger.verify()).faults).toEqual([]);
  for (const account of [...seeded, ...seeded]) {
    const request = requestFor(account, 9n);
    await holds.hold(request);
    await holds.settle(settlementOf(request.id, 5n));
  }
  await holds.stop();
  await new UsageRollups({ database, log }).sweep(1);
  // What a test damages is audited when it has ended.
  onTestFinished(() =>
    database
      .rows("truncate account, inference_request, ledger_transfer, earlier_ledger_entry cascade")
      .then(() => {}),
  );
  return { database, ledger };
}

/** Damages one row, without the triggers and references that refuse that. */
function damage(database: Database, statement: string): Promise<void> {
  return database.transaction(async (tx) => {
    await tx.rows("set local session_replication_role = replica");
    expect(await tx.rows(`${statement} returning 1`)).toHaveLength(1);
  });
}

const OTHER = "(select max(a.address) from account a where a.address <> t.account)";
const ONE = (table: string, condition = "true") =>
  `t.ctid = (select min(ctid) from ${table} where ${condition})`;

/** What is changed, how, the fault, and whether it is a row that a verification of what is new reads. */
const DAMAGES = [
  [
    "a deposit that was credited and is gone",
    `delete from deposit t where ${ONE("deposit")}`,
    /deposit/,
    true,
  ],
  [
    "the account of a deposit",
    `update deposit t set account = ${OTHER} where ${ONE("deposit")}`,
    /deposit/,
    true,
  ],
  [
    "the account of a payment's request",
    `update inference_request t set account = ${OTHER}, usage_number = 9 where ${ONE("inference_request")}`,
    /^the cost of a request is not what its account paid/,
    true,
  ],
  [
    "a request whose payment is gone, and was given back",
    `with t as (
       delete from ledger_transfer t where transfer_id = (select 'settle:' || min(id) from inference_request) returning *
     )
     update account a set deposit = a.deposit + 5 where a.address = (select account from t limit 1)`,
    /^the cost of a request is not what its account paid/,
    false,
  ],
  [
    "the parts of a cost",
    `update inference_request t set credit_used = credit_used + 1 where ${ONE("inference_request")}`,
    /^the cost of a request is not what its account paid/,
    false,
  ],
  [
    "the number of the last request",
    `update account t set usage_count = usage_count + 1 where ${ONE("account")}`,
    /^the requests of an account are not numbered without gaps/,
    false,
  ],
  [
    "up to which request usage was added up",
    `update usage_rolled t set usage_number = usage_number + 1 where ${ONE("usage_rolled")}`,
    /^the requests of an account are not numbered without gaps/,
    false,
  ],
  [
    "usage with a provider in an hour",
    `update usage_provider_rollup t set cost = cost + 1 where ${ONE("usage_provider_rollup", "grain = 'hour'")}`,
    /^the sums of usage by provider/,
    false,
  ],
  [
    "usage with a provider on a day",
    `delete from usage_provider_rollup t where ${ONE("usage_provider_rollup", "grain = 'day'")}`,
    /^the sums of usage by provider/,
    false,
  ],
] as const;

test.each(DAMAGES)("a full verification finds what was changed: %s", async (_, statement, fault, isNew) => {
  const { database, ledger } = await openLedger();
  await damage(database, statement);
  if (isNew)
    expect((await ledger.verifyNew())?.faults.map((one) => one.fault)).toContainEqual(
      expect.stringMatching(fault),
    );
  const { faults } = await ledger.verify();
  expect(faults.map((one) => one.fault)).toContainEqual(expect.stringMatching(fault));
});
