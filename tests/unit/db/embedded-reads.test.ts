import { expect, test } from "vitest";
import { openTestDatabase } from "../../support/servers/database.ts";

test("reads with many variants do not fill the memory of the embedded database with prepared statements", async () => {
  const database = await openTestDatabase("embedded");
  const variants = Array.from({ length: 200 }, (_, n) => n);
  for (const n of variants) {
    const text = `select ${n} + $1::int as sum`;
    expect(await database.reads.rows("account", { text, values: [1] })).toEqual([{ sum: n + 1 }]);
  }
  const prepared =
    "select count(*)::int as count from pg_prepared_statements where statement like '% as sum'";
  expect((await database.pool.query(prepared)).rows).toEqual([{ count: 128 }]);
});
