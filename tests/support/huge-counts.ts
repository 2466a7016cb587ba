import { onTestFinished } from "vitest";
import type { Database, Queries } from "../../src/db/database.ts";

/** Statements in which `count(*)` begins at three thousand million, as that of a table with so many rows more. */
export async function startHugeCounts(database: Database): Promise<Queries> {
  await database.rows("create schema huge");
  onTestFinished(() => database.rows("drop schema huge cascade").then(() => {}));
  await database.rows("create function huge.next(bigint) returns bigint language sql as 'select $1 + 1'");
  await database.rows(
    "create aggregate huge.count(*) (sfunc = huge.next, stype = bigint, initcond = '3000000000')",
  );
  return {
    rows: (sql, parameters) =>
      database.transaction(async (tx) => {
        await tx.rows("set local search_path = huge, public, pg_catalog");
        return tx.rows(sql, parameters);
      }),
  };
}
