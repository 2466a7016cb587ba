// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import type { Queries } from "../../src/db/database.ts";
import { DatabaseClock } from "../../src/db/database-clock.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { ProcessesService } from "../../src/operations/processes.service.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

/** A process; the circuits that it reports are many. */
function startProcess(queries: Queries | undefined, lines: string[] = []): ProcessesService {
  const circuit = {
    provider: "0xa",
    state: "open",
    openedAt: null,
    restsUntil: null,
    lastFailure: null,
  } as const;
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const service = new ProcessesService({
    ...{ id: newId(), queries, clock: new DatabaseClock(systemClock, log), log },
    eventStreams: () => 3,
    circuits: () => Array.from({ length: 150 }, (_, n) => ({ ...circuit, model: `m${n}` })),
  });
  onTestFinished(() => service.stop());
  return service;
}

const byRole = (a: { role: string }, b: { role: string }) => (a.role < b.role ? -1 : 1);

/** Keeps the event loop busy. */
function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test("the only process of its database is listed without one, with the delays since its last report", async () => {
  const service = startProcess(undefined);
  service.start("all");
  const end = service.countSubscription();
  const [own, ...more] = await service.list();
  expect(more).toEqual([]);
  expect(own).toMatchObject({ role: "all", eventStreams: 3, subscriptions: 1, isSilent: false });
  expect(own?.circuits).toHaveLength(100);
  end();
  end();
  expect((await service.list())[0]?.subscriptions).toBe(0);
  const delayAfter = async (busyMs: number) => {
    await service.report();
    // The loop turns before and after it is busy, which is what is measured.
    await new Promise((resolve) => setTimeout(resolve, 60));
    block(busyMs);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await service.report();
    return (await service.list())[0]?.delayP99Ms ?? 0;
  };
  expect(await delayAfter(300)).toBeGreaterThan(150);
  await until(async () => (await delayAfter(0)) < 150);
});

describeDatabases("processes", (kind) => {
  test("that have ended are not listed, also if an operator acts while they end", async () => {
    const database = await openTestDatabase(kind);
    const [first, second] = [startProcess(database), startProcess(database)];
    first.start("gateway");
    await second.report();
    await until(async () => (await second.list()).length === 2);
    const stopped = first.stop();
    first.nudge();
    await stopped;
    first.nudge();
    await second.report();
    expect((await second.list()).map(({ role }) => role)).toEqual(["all"]);
  });

  test("are forgotten an hour after their last report, or at their end", async () => {
    const database = await openTestDatabase(kind);
    // The second one reports only when the test makes it, so that its report ages.
    const [first, second] = [startProcess(database), startProcess(database)];
    first.start("gateway");
    await second.report();
    const roles = async () =>
      (await first.list()).map(({ role, isSilent }) => ({ role, isSilent })).toSorted(byRole);
    await until(async () => (await roles()).length === 2);
    const age = (seconds: number) =>
      database.rows(
        `update process_report set reported_at = now() - interval '${seconds} seconds'
         where report->>'role' = 'all'`,
      );
    await age(21);
    expect(await roles()).toEqual([
      { role: "all", isSilent: true },
      { role: "gateway", isSilent: false },
    ]);
    await age(3_601);
    expect(await roles()).toEqual([{ role: "gateway", isSilent: false }]);
    await first.report();
    expect(await database.rows("select 1 from process_report")).toHaveLength(1);
    await second.report();
    expect(await roles()).toHaveLength(2);
    await first.stop();
    expect(await roles()).toEqual([{ role: "all", isSilent: false }]);
  });

  test("that cannot report log this, and continue", async () => {
    const database = await openTestDatabase(kind);
    const lines: string[] = [];
    let isAway = true;
    const queries: Queries = {
      rows: (...query) => (isAway ? Promise.reject(new Error("away")) : database.rows(...query)),
    };
    const service = startProcess(queries, lines);
    service.start("all");
    await until(() => lines.some((line) => line.includes("could not report its state")));
    isAway = false;
    service.nudge();
    await until(async () => (await service.list()).length === 1);
  });
});
