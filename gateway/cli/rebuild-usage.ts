import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { databaseOf } from "../../src/app-connections.ts";
import { readPartialConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/db/open.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run usage:rebuild`: deletes the stored sums of usage and adds up every request again. The sums of accounts of which
 * requests were removed (`RETENTION_REQUESTS_MONTHS`) stay as they are. The service may run.
 */
await runOrExplain(async () => {
  readCommandLine({ usage: "npm run usage:rebuild" });
  const config = readPartialConfig();
  const database = await openDatabase(databaseOf(config, { statementTimeoutMs: 0 }), { mustExist: true });
  try {
    const rollups = new UsageRollups({ database, log: createLogger(config.LOG_LEVEL) });
    console.log(`The usage of ${await rollups.rebuild()} requests was added up.`);
  } finally {
    await database.close();
  }
});
