import { LedgerService } from "../../src/accounts/ledger.service.ts";
import {
  type CountedMonth,
  policyOf,
  RetentionService,
} from "../../src/accounts/retention/retention.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { databaseOf } from "../../src/app-connections.ts";
import { readPartialConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/db/open.ts";
import { StartupError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requireWritableFolder } from "../../src/kernel/writable-folder.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run retention`: archives and removes the months that the policy does not keep, as a worker does every hour. With
 * `-- --dry-run` it only prints them. The service may run, unless its database is the embedded one.
 */
await runOrExplain(async () => {
  const { flags } = readCommandLine({ usage: "npm run retention [-- --dry-run]", flags: ["--dry-run"] });
  const config = readPartialConfig();
  const policy = policyOf(config);
  if (!policy)
    throw new StartupError(
      "Everything is kept: set RETENTION_REQUESTS_MONTHS or RETENTION_LEDGER_MONTHS, and RETENTION_ARCHIVE_FOLDER.",
    );
  const isDryRun = flags.has("--dry-run");
  if (!isDryRun) requireWritableFolder("RETENTION_ARCHIVE_FOLDER", policy.folder);
  const database = await openDatabase(databaseOf(config, { statementTimeoutMs: 0 }), { mustExist: true });
  try {
    const log = createLogger(config.LOG_LEVEL);
    const ledger = new LedgerService(database);
    const rollups = new UsageRollups({ database, log });
    const retention = new RetentionService({ database, log, policy, ledger, rollups });
    // What only reads may end at once, by the default of the signal.
    const months = isDryRun ? await retention.preview() : await closeMonths(retention);
    for (const { kind, month, rows } of months)
      console.log(`${month}: ${rows} ${kind === "ledger" ? "transfers" : "requests"}`);
    console.log(`${months.length} months ${isDryRun ? "would be" : "were"} archived and removed`);
  } finally {
    await database.close();
  }
});

/** Closes the months that are due. The first signal ends this after its current slice, and the second one at once. */
async function closeMonths(retention: RetentionService): Promise<readonly CountedMonth[]> {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    console.error("Stopping after the current step; the next run continues there.");
    retention.stop();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  const closed = await retention.run();
  const dueCount = isStopped || closed.length > 0 ? 0 : (await retention.due()).length;
  if (dueCount > 0)
    throw new StartupError(
      `${dueCount} months are due, but another process is closing months. Try again when it has ended.`,
    );
  return closed;
}
