import { databaseOf } from "../../src/app-connections.ts";
import { readPartialConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/db/open.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";

/** `npm run migrate`: migrates the database to this version and ends, so that a deployment can do it before it starts. */
await runOrExplain(async () => {
  readCommandLine({ usage: "npm run migrate" });
  const database = await openDatabase(databaseOf(readPartialConfig(), { statementTimeoutMs: 0 }));
  await database.close();
  console.log("The database has the schema of this version.");
});
