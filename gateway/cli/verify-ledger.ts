import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { databaseOf } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/db/open.ts";
import { runOrExplain } from "./run-or-explain.ts";

/** `npm run ledger:verify`: checks every row of the ledger. Prints each fault, and exits 1 if there is one. */
await runOrExplain(async () => {
  // Reads every row, so the statement has no timeout.
  const database = await openDatabase(databaseOf(readConfig(), { statementTimeoutMs: 0 }));
  try {
    const { faults, entries, openHolds } = await new LedgerService(database).verify();
    for (const { fault, subject } of faults) console.error(`${fault}: ${subject}`);
    console.log(
      `${faults.length === 0 ? "The ledger is exact" : `${faults.length} faults`}: ${entries} entries, ${openHolds} open holds`,
    );
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await database.close();
  }
});
