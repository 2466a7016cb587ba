import pg from "pg";
import { UsageRollups } from "../../../src/accounts/usage/usage-rollups.service.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { ManagementKeyService } from "../../../src/keys/management-keys/management-key.service.ts";
import { type SeededUsage, seedUsage, type UsageVolume } from "../../support/seed-usage.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { quantile, runLoad, type Target } from "../load.ts";
import { chatBody } from "../scenario.ts";
import { openMarket, openProduct } from "../world.ts";
import { benchOverview } from "./overview.ts";
import { benchRequestFilters } from "./request-filters.ts";

export type ReadsPace = UsageVolume & { readonly rounds: number; readonly durationMs: number };

const CHATTERS = 4;
const CHAT = chatBody({ stream: false, maxTokens: 16 });
const READERS = [1, 4, 12];

/**
 * The cost to others of one account that reads its usage: the duration of each kind of read alone, and the
 * latency of other customers' chats with 0, 1, 4 and 12 such reads running at all times.
 */
export async function benchReads(
  pace: ReadsPace,
  onEnd: OnEnd,
  print: (line: string) => void,
): Promise<void> {
  const market = await openMarket(onEnd);
  const product = await openProduct("server", market, onEnd);
  const seedingMs = performance.now();
  const { secret, seeded } = await seed(product.postgresUrl ?? "", pace);
  print(`${pace.requests} requests of ${pace.accounts} accounts, seeded in ${sinceText(seedingMs)}`);
  const read = async (path: string, signal: AbortSignal | null = null) => {
    const startedMs = performance.now();
    const headers = { authorization: `Bearer ${secret}` };
    const answer = await fetch(`${product.many.origin}/v1/account/usage/${path}`, { headers, signal });
    await answer.arrayBuffer();
    return { status: answer.status, tookMs: performance.now() - startedMs };
  };
  for (const path of await pathsOf(seeded, product.many.origin, secret)) {
    const times: number[] = [];
    for (let n = 0; n < 15; n++) times.push((await read(path)).tookMs);
    print(`  ${median(times).toFixed(1).padStart(6)} ms  ${path.replace(/cursor=.*/, "cursor=...")}`);
  }
  await benchRequestFilters(product.postgresUrl ?? "", seeded, print);
  await benchOverview({ origin: product.many.origin, secret }, print);
  const chats = () => chatLatency(product.many, pace);
  await chats();
  for (const readers of READERS) {
    const quiet: number[] = [];
    const beside: number[] = [];
    const statuses = new Map<number, number>();
    for (let round = 0; round < pace.rounds; round++) {
      quiet.push(await chats());
      const stopping = new AbortController();
      const running = Array.from({ length: readers }, async () => {
        while (!stopping.signal.aborted) {
          const { status } = await read("stats", stopping.signal).catch(() => ({ status: 0 }));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      });
      beside.push(await chats());
      stopping.abort();
      await Promise.all(running);
    }
    const counts = [...statuses]
      .filter(([status]) => status > 0)
      .map(([status, count]) => `${count} x ${status}`);
    print(
      `  ${String(readers).padStart(2)} readers: chat p50 ${median(quiet).toFixed(1)} ms without, ` +
        `${median(beside).toFixed(1)} ms with (${(median(beside) / median(quiet)).toFixed(2)} times); ${counts.join(", ")}`,
    );
  }
}

/** Chats of other accounts; median in milliseconds. */
async function chatLatency(target: Target, { durationMs }: ReadsPace): Promise<number> {
  const { p50Ms } = await runLoad(target, { body: CHAT, connections: CHATTERS, durationMs });
  return p50Ms;
}

async function seed(url: string, volume: UsageVolume): Promise<{ secret: string; seeded: SeededUsage }> {
  const client = new pg.Client(url);
  await client.connect();
  const database = await openDatabase({ kind: "server", url, poolSize: 2 });
  try {
    const rows = async <Row>(sql: string, parameters: readonly unknown[] = []) =>
      (await client.query(sql, [...parameters])).rows as Row[];
    const seeded = await seedUsage({ rows }, volume);
    // A running product has done so meanwhile.
    await new UsageRollups({ database, log: createLogger("silent") }).sweep(1);
    const keys = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
    const { secret } = await keys.create(seeded.account, "reader", ["account:read", "keys:read"]);
    return { secret, seeded };
  } finally {
    await client.end();
    await database.close();
  }
}

/** One path for each kind of read; the deep cursor is that of the middle of the history. */
async function pathsOf(
  { keyId, model }: SeededUsage,
  origin: string,
  secret: string,
): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${secret}` };
  const middle = await fetch(`${origin}/v1/account/usage/history?limit=1&offset=50000`, { headers });
  const { next_cursor = "" } = (await middle.json()) as { next_cursor?: string };
  const day = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
  return [
    "stats",
    `stats?model_id=${model}`,
    `stats?api_key_id=${keyId}`,
    `stats?source=wallet&trust_mode=verified`,
    `stats?start_date=${day}&end_date=${day}`,
    "daily",
    "daily?dimensions=trust_mode",
    "history?limit=100",
    "history?limit=100&include_total=true",
    "history?limit=100&offset=150000",
    "history?limit=100&model_id=none",
    `history?limit=100&cursor=${next_cursor}`,
  ];
}

function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((one, other) => one - other),
    0.5,
  );
}

function sinceText(startedMs: number): string {
  return `${((performance.now() - startedMs) / 1_000).toFixed(0)} s`;
}
