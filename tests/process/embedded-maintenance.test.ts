// @module-tag large
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { EmbeddedMaintenance } from "../../src/db/embedded/maintenance.runner.ts";
import { openDatabase } from "../../src/db/open.ts";
import { newFolder } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const MIB = 1_048_576;
const SEGMENT_MIB = 16;

test("the log of the embedded database stays short while its rows are changed again and again, and so does the table", async () => {
  const path = newFolder();
  const database = await openDatabase({ kind: "folder", path });
  const folder = database.folder ?? "";
  const maintenance = new EmbeddedMaintenance(database, folder, pino({ level: "silent" }));
  const numberOf = async (sql: string) => Number((await database.rows<{ n: string }>(sql))[0]?.n);
  const written = () => numberOf("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as n");
  await database.rows("create table counted (id int primary key, note text, n int)");
  await database.rows("insert into counted select n, repeat('a', 500), 0 from generate_series(1, 20000) n");
  const startBytes = await written();
  // 192 MiB of log, of which a checkpoint keeps the last 80 for reuse, and 120 MB of dead rows: more than both bounds.
  for (let round = 0; (await written()) - startBytes < 192 * MIB; round++) {
    await database.rows("update counted set n = n + 1 where id % 3 = $1::int", [round % 3]);
    await maintenance.maintain();
  }
  const segments = (await readdir(join(folder, "pg_wal"))).filter((name) => /^[0-9A-F]{24}$/.test(name));
  expect(segments.length * SEGMENT_MIB).toBeLessThanOrEqual(128);
  expect(await numberOf("select pg_relation_size('counted') as n")).toBeLessThan(64 * MIB);
  // The statistics of the last round may be late; what they then show is vacuumed by the next one.
  await until(async () => {
    await maintenance.maintain();
    const dead = "select n_dead_tup as n from pg_stat_user_tables where relname = 'counted'";
    expect(await numberOf(dead)).toBeLessThanOrEqual(10_000);
  });
  const sum = await numberOf("select sum(n) as n from counted");

  // The state of one instant, as after kill -9.
  const copy = newFolder();
  await cp(folder, join(copy, "postgres"), { recursive: true });
  await database.close();
  const recovered = await openDatabase({ kind: "folder", path: copy });
  expect((await recovered.rows<{ n: string }>("select sum(n) as n from counted"))[0]?.n).toBe(String(sum));
  await recovered.close();
});
