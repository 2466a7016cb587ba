import { databaseOf } from "../../src/app-connections.ts";
import { NETWORKS } from "../../src/chain/networks.ts";
import { WatcherAcceptanceService } from "../../src/chain/watcher/watcher-acceptance.service.ts";
import { readPartialConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/db/open.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run watcher:accept -- NAME`: accepts a reorg that was deep enough to halt a watcher. A worker on the same
 * database resumes within 10 s. With the embedded database, stop the product first; the watcher resumes when it
 * starts again.
 */
await runOrExplain(async () => {
  const [name = ""] = readCommandLine({ usage: "npm run watcher:accept -- NAME", words: 1 }).words;
  const config = readPartialConfig();
  const { chainId } = NETWORKS[config.NETWORK];
  const database = await openDatabase(databaseOf(config, { statementTimeoutMs: 0 }), { mustExist: true });
  try {
    const { scannedBlock, note } = await new WatcherAcceptanceService(database, chainId).accept(name);
    console.log(
      `Accepted. The watcher ${name} had read block ${scannedBlock} and halted because ${note ?? "the chain changed"}.\n` +
        "It rolls back the reorged blocks and resumes, within 10 s or when the product starts. Credited deposits stay credited.",
    );
  } finally {
    await database.close();
  }
});
