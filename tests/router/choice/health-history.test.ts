import { expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { ProviderFailure } from "../../../src/inference/providers/exchange/provider-failure.ts";
import { HealthService } from "../../../src/inference/providers/health/health.service.ts";
import { HealthHistoryService } from "../../../src/inference/providers/health/health-history.service.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { describeDatabases, openTestDatabase } from "../../support/servers/database.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOON = Date.parse("2026-11-26T12:10:00Z");
const LOG = createLogger("silent");

function offer(address: string, model = "m"): Provider {
  return { address, url: "https://a.example.com", model } as unknown as Provider;
}

/** A process, with its own health service and clock, on a database that all share. */
function startProcess(database: Pick<Database, "rows">) {
  const time = { nowMs: NOON };
  const clock = { now: () => new Date(time.nowMs), monotonicMs: () => time.nowMs };
  const history = new HealthHistoryService({ queries: database as Database, clock, log: LOG });
  const health = new HealthService({ clock, coolDownMs: 1_000, observer: history });
  /** A request whose first byte arrives after this many milliseconds. */
  const answer = (provider: Provider, ms: number) => {
    const trial = health.begin(provider);
    time.nowMs += ms;
    trial.firstByte();
    trial.succeed();
  };
  const fail = (provider: Provider, kind: "failed" | "busy" = "failed") =>
    health.begin(provider).fail(new ProviderFailure(kind, {}));
  return { time, history, health, answer, fail };
}

describeDatabases("health history", (kind) => {
  test("processes add up, by day and by hour, and only failures of the provider count", async () => {
    const database = await openTestDatabase(kind);
    const provider = offer("0xA1");
    const processes = [startProcess(database), startProcess(database), startProcess(database)];
    for (const { answer, fail, health, time } of processes) {
      for (let n = 0; n < 18; n++) answer(provider, 100);
      answer(provider, 1_000);
      answer(provider, 1_000);
      fail(provider);
      fail(provider, "busy");
      health.begin(provider).drop();
      time.nowMs = NOON + HOUR_MS;
      answer(provider, 100);
    }
    await Promise.all(processes.map(({ history }) => history.flush()));
    const [{ history }] = processes as [ReturnType<typeof startProcess>];
    const [hours] = await history.of([provider], "hour");
    expect(
      hours?.map(({ startsAt, requests, failures }) => [startsAt.toISOString(), requests, failures]),
    ).toEqual([
      ["2026-11-26T12:00:00.000Z", 63, 3],
      ["2026-11-26T13:00:00.000Z", 3, 0],
    ]);
    const [days] = await history.of([provider], "day");
    expect(days).toHaveLength(1);
    expect(days?.[0]).toMatchObject({ requests: 66, failures: 3 });
    const { meanMs = 0, p50Ms = 0, p95Ms = 0 } = days?.[0]?.latency ?? {};
    expect(meanMs).toBe(Math.round((57 * 100 + 6 * 1_000) / 63));
    expect(Math.abs(p50Ms - 100)).toBeLessThan(10);
    expect(Math.abs(p95Ms - 1_000)).toBeLessThan(100);
    await database.rows("truncate provider_hour");
  });

  test("each provider and model has a history of its own, in the order in which they were asked for", async () => {
    const database = await openTestDatabase(kind);
    const { history, answer } = startProcess(database);
    answer(offer("0xB1", "one"), 10);
    answer(offer("0xB1", "two"), 10);
    answer(offer("0xB1", "two"), 10);
    await history.flush();
    const found = await history.of([offer("0xb1", "two"), offer("0xb2"), offer("0xb1", "one")], "day");
    expect(found.map((points) => points.map(({ requests }) => requests))).toEqual([[2], [], [1]]);
    const both = [offer("0xb1", "two"), offer("0xb1", "one")];
    const totals = await history.recent([both, [offer("0xb2")], []]);
    expect(totals.map((point) => point?.requests)).toEqual([3, undefined, undefined]);
    expect(Math.abs((totals[0]?.latency?.p50Ms ?? 0) - 10)).toBeLessThanOrEqual(1);
    await database.rows("truncate provider_hour");
  });

  test("frequent reads query the database once in half a minute, and once for each provider", async () => {
    const database = await openTestDatabase(kind);
    const reads: string[] = [];
    const { time, history, answer } = startProcess({
      rows: (text, values) => {
        if (/^\s*with hours/.test(text)) reads.push(String(values?.[0]));
        return database.rows(text, values);
      },
    });
    const provider = offer("0xD1");
    answer(provider, 10);
    await history.flush();
    const many = Array.from({ length: 500 }, () => [provider]);
    const counts = async () => (await history.recent(many)).map((point) => point?.requests);
    expect(new Set(await counts())).toEqual(new Set([1]));
    answer(provider, 10);
    await history.flush();
    expect(new Set(await counts())).toEqual(new Set([1]));
    expect(reads.map((offers) => JSON.parse(offers).length)).toEqual([1]);
    time.nowMs += 30_000;
    expect(new Set(await counts())).toEqual(new Set([2]));
    await database.rows("truncate provider_hour");
  });

  test("what is older than 30 days is deleted, and what cannot be stored is held until it can", async () => {
    const database = await openTestDatabase(kind);
    const state = { isDown: false };
    const { time, history, answer } = startProcess({
      rows: (text, values) =>
        state.isDown ? Promise.reject(new Error("down")) : database.rows(text, values),
    });
    const provider = offer("0xC1");
    answer(provider, 10);
    await history.flush();
    time.nowMs += 20 * DAY_MS;
    state.isDown = true;
    answer(provider, 10);
    await expect(history.flush()).rejects.toThrow("down");
    answer(provider, 10);
    state.isDown = false;
    await history.flush();
    const counts = async () => (await history.of([provider], "day"))[0]?.map(({ requests }) => requests);
    expect(await counts()).toEqual([1, 2]);
    time.nowMs += 11 * DAY_MS;
    await history.flush();
    const rows = await database.rows<{ requests: string }>(
      "select requests::text as requests from provider_hour",
    );
    expect(rows).toEqual([{ requests: "2" }]);
    expect(await counts()).toEqual([2]);
    await database.rows("truncate provider_hour");
  });
});
