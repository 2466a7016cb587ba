import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCommandLine } from "../gateway/cli/command-line.ts";
import { runOrExplain } from "../gateway/cli/run-or-explain.ts";
import { openDatabase } from "../src/db/open.ts";
import { citusSteps, findUndeclared } from "./citus/ddl.ts";

/** `npm run citus`: prints the DDL that makes the tables of a new, migrated database tables of Citus. */
await runOrExplain(async () => {
  readCommandLine({ usage: "npm run citus" });
  const folder = mkdtempSync(join(tmpdir(), "zerograph-citus-"));
  try {
    const database = await openDatabase({ kind: "folder", path: folder });
    try {
      const undeclared = await findUndeclared(database);
      if (undeclared.length > 0)
        throw new Error(`scripts/citus/distribution.ts lacks: ${undeclared.join(", ")}`);
      for (const { sql, why } of await citusSteps(database))
        console.log(`${why ? `-- ${why}\n` : ""}${sql};`);
    } finally {
      await database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
