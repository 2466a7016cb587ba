import { resolve } from "node:path";
import pg from "pg";
import { buildBench } from "./build.ts";
import { cpuMs } from "./cpu-time.ts";
import { withEnds } from "./ends.ts";
import { quantile, runLoad } from "./load.ts";
import { SPACED_STREAM, UNARY_CHAT } from "./scenario.ts";
import { openMarket, openProduct } from "./world.ts";

/**
 * `scripts/node --import tsx tests/bench/profile.ts [server|embedded] [connections] [seconds] [--stream] [--cpu-prof]`:
 * puts load on our product alone and reports the CPU time of one request, which other work on the machine
 * hardly changes, and the statements on which PostgreSQL spent its time. With `--stream` the requests are streams of
 * 64 tokens, 1 ms apart. With `--cpu-prof` it leaves a .cpuprofile in .cache/profiles.
 */
const [kind = "server", connections = "16", seconds = "6"] = process.argv
  .slice(2)
  .filter((word) => !word.startsWith("--"));
const STATEMENTS = `
  select calls::int, round(total_exec_time)::int as run_ms, round(mean_exec_time::numeric, 3)::text as mean_run_ms,
    plans::int, round(total_plan_time)::int as plan_ms,
    (wal_bytes / greatest(calls, 1))::int as wal_bytes, regexp_replace(left(query, 70), '\\s+', ' ', 'g') as statement
  from pg_stat_statements order by total_exec_time desc limit 8`;

await buildBench();
await withEnds(async (onEnd) => {
  const folder = resolve(".cache/profiles");
  const market = await openMarket(onEnd);
  const flags = process.argv.includes("--cpu-prof") ? ["--cpu-prof", "--cpu-prof-dir", folder] : [];
  const product = await openProduct(kind === "server" ? "server" : "embedded", market, onEnd, flags);
  const { body, behaviour } = process.argv.includes("--stream") ? SPACED_STREAM : UNARY_CHAT;
  market.behave(behaviour);
  await runLoad(product.one, { body, connections: 16, durationMs: 3_000 });
  const database = product.postgresUrl === undefined ? undefined : new pg.Client(product.postgresUrl);
  await database?.connect();
  onEnd(async () => database?.end());
  await database?.query("create extension if not exists pg_stat_statements");
  await database?.query("select pg_stat_statements_reset()");
  const { rows = [] } = (await database?.query<{ pid: number }>("select pid from pg_stat_activity")) ?? {};
  const ours = [product.process.process.pid ?? 0];
  const theirs = rows.map(({ pid }) => pid);
  const before = [cpuMs(ours), cpuMs(theirs)];
  const rates: number[] = [];
  let requests = 0;
  for (let second = 0; second < Number(seconds); second++) {
    const measured = await runLoad(product.one, {
      body,
      connections: Number(connections),
      durationMs: 1_000,
    });
    rates.push(measured.perSecond);
    requests += measured.requests;
    const { perSecond, p50Ms, p99Ms } = measured;
    console.log(`${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`);
  }
  const [gateway = 0, postgres = 0] = [ours, theirs].map(
    (pids, n) => (cpuMs(pids) - (before[n] ?? 0)) / requests,
  );
  const median = quantile(
    rates.toSorted((a, b) => a - b),
    0.5,
  );
  console.log(
    `median ${median.toFixed(0)}/s; CPU ms a request: gateway ${gateway.toFixed(2)}, PostgreSQL ${postgres.toFixed(2)}; ${folder}`,
  );
  if (database) console.table((await database.query(STATEMENTS)).rows);
});
