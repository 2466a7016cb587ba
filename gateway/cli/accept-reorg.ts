import { databaseOf } from "../../src/app.ts";
import { NETWORKS } from "../../src/chain/networks.ts";
import { WatcherAcceptanceService } from "../../src/chain/watcher/watcher-acceptance.service.ts";
import { readConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/db/open.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run watcher:accept -- NAME`: accepts a reorganisation so deep that it halted a watcher. A worker that runs on
 * the same database goes on within 10 s; the embedded database has to be stopped first, and goes on when it starts.
 */
await runOrExplain(async () => {
  const [name = ""] = process.argv.slice(2);
  const config = readConfig();
  const { chainId } = NETWORKS[config.NETWORK];
  const database = await openDatabase(databaseOf(config, { statementTimeoutMs: 0 }));
  try {
    const { scannedBlock, note } = await new WatcherAcceptanceService(database, chainId).accept(name);
    console.log(
      `Accepted. The watcher ${name} had read block ${scannedBlock} and halted because ${note ?? "the chain changed"}.\n` +
        "It takes back what is gone and goes on, within 10 s or when the product starts. What was credited stays credited.",
    );
  } finally {
    await database.close();
  }
});
