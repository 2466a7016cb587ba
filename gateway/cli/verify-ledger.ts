import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { verifyArchives } from "../../src/accounts/retention/archive-check.ts";
import { databaseOf } from "../../src/app-connections.ts";
import { type Config, readPartialConfig } from "../../src/config.ts";
import type { Queries } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { StartupError } from "../../src/kernel/errors.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run ledger:verify`: checks the ledger since the last verification, or every row of it with `-- --full`, for the
 * first time and after a fault. `-- --full --archives` also reads the archives of closed months. Prints each fault, and
 * exits 1 if there is one.
 */
await runOrExplain(async () => {
  const { flags } = readCommandLine({
    usage: "npm run ledger:verify [-- --full [--archives]]",
    flags: ["--full", "--archives"],
  });
  // Reads many rows, so the statements have no timeout.
  const config = readPartialConfig();
  const hasArchives = flags.has("--archives");
  const archiveFolder = hasArchives ? archiveFolderOf(config) : undefined;
  const database = await openDatabase(databaseOf(config, { statementTimeoutMs: 0 }), { mustExist: true });
  try {
    const ledger = new LedgerService(database);
    const isFull = hasArchives || flags.has("--full");
    const found = isFull ? undefined : await ledger.verifyNew();
    if (found?.faults.length === 0) {
      console.log(`The ledger is exact: ${found.transfers} transfers since the last verification`);
      return;
    }
    if (found) report(found.faults);
    if (!isFull) console.log("Checking every row:");
    const { faults, entries, openHolds } = await ledger.verify((done, total, what) =>
      console.log(`${done} of ${total}: ${what}`),
    );
    report(faults);
    console.log(
      `${faults.length === 0 ? "The ledger is exact" : `${faults.length} faults`}: ${entries} entries, ${openHolds} open holds`,
    );
    const archived = archiveFolder === undefined ? 0 : await checkArchives(database, archiveFolder);
    process.exitCode = faults.length + archived === 0 ? 0 : 1;
  } finally {
    await database.close();
  }
});

/** The folder of the archives. Checked first: a full verification of a large ledger takes hours. */
function archiveFolderOf({ RETENTION_ARCHIVE_FOLDER: folder }: Config): string {
  if (folder !== undefined) return folder;
  throw new StartupError("RETENTION_ARCHIVE_FOLDER: required with --archives, the folder of the archives");
}

/** Reads the archives, and returns the number of faults. */
async function checkArchives(database: Queries, folder: string): Promise<number> {
  const { faults, months, rows } = await verifyArchives(database, folder, ({ archive, rows }) =>
    console.log(`${archive}: ${rows} rows`),
  );
  report(faults);
  console.log(
    `${faults.length === 0 ? "The archives are complete" : `${faults.length} faults`}: ${rows} rows of ${months} months`,
  );
  return faults.length;
}

function report(faults: readonly { readonly fault: string; readonly subject: string }[]): void {
  for (const { fault, subject } of faults) console.error(`${fault}: ${subject}`);
}
