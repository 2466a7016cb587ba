import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { policyOf, RetentionService } from "../../src/accounts/retention/retention.service.ts";
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
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => retention.stop());
    const months = isDryRun ? await retention.preview() : await retention.run();
    for (const { kind, month, rows } of months)
      console.log(`${month}: ${rows} ${kind === "ledger" ? "transfers" : "requests"}`);
    console.log(`${months.length} months ${isDryRun ? "would be" : "were"} archived and removed`);
  } finally {
    await database.close();
  }
});
