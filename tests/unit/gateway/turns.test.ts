import { expect, test } from "vitest";
import { Turns } from "../../../gateway/http/turns.ts";
import { threadMs } from "../../support/attack/event-loop.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const busy = (ms: number) => {
  for (const end = threadMs() + ms; threadMs() < end; );
};

/** How many of `count` tasks of `ms` each run in each turn of the event loop. */
async function perTurn(turns: Turns, count: number, ms: number): Promise<readonly number[]> {
  const begun: number[] = [];
  let at = 0;
  for (let n = 0; n < count; n++)
    turns.take(() => {
      busy(ms);
      begun.push(at);
    });
  while (begun.length < count) {
    await turn();
    at += 1;
  }
  return Object.values(Object.groupBy(begun, String)).map((group) => group?.length ?? 0);
}

test("cheap tasks share a turn, up to the maximum", async () => {
  const counts = await perTurn(new Turns(8), 64, 0);
  // The observed turn may contain the end of one batch and the whole of the next.
  expect(Math.max(...counts)).toBeLessThanOrEqual(16);
  expect(counts.length).toBeGreaterThanOrEqual(4);
});

test("while turns are long, each runs one task", async () => {
  const counts = await perTurn(new Turns(16), 40, 9);
  expect(counts.slice(3).every((count) => count === 1)).toBe(true);
});

test("a task that is long by itself ends its turn, even as the first of many", async () => {
  const turns = new Turns(16);
  let begun = 0;
  for (let n = 0; n < 12; n++)
    turns.take(() => {
      busy(30);
      begun += 1;
    });
  const counts = [begun];
  while (begun < 12) {
    const before = begun;
    await turn();
    counts.push(begun - before);
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(2);
});

test("every task runs once and in order, including tasks added while others wait", async () => {
  const turns = new Turns(2);
  const seen: number[] = [];
  for (let n = 0; n < 10; n++)
    turns.take(() => {
      seen.push(n);
      if (n < 5) turns.take(() => void seen.push(100 + n));
    });
  while (seen.length < 15) await turn();
  expect(seen.filter((n) => n < 100)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(seen.filter((n) => n >= 100)).toEqual([100, 101, 102, 103, 104]);
});

test("no task starts while connections are being accepted, so the last connection of a burst is accepted at once", async () => {
  const turns = new Turns();
  let begun = 0;
  for (let n = 0; n < 300; n++)
    turns.take(() => {
      busy(2);
      begun += 1;
    });
  const before = begun;
  const sinceMs = threadMs();
  for (let n = 0; n < 300 && threadMs() - sinceMs < 40; n++) {
    turns.accepted();
    await turn();
  }
  // What started in the turn of the first connection, before it arrived.
  expect(begun - before).toBeLessThanOrEqual(32);
  while (begun < 300) await turn();
});

test("an endless stream of connections delays waiting tasks for a bounded time only", async () => {
  const turns = new Turns(4);
  let begun = 0;
  for (let n = 0; n < 12; n++)
    turns.take(() => {
      begun += 1;
    });
  while (begun < 12) {
    turns.accepted();
    await turn();
  }
});

test("a request on a single new connection starts in the next turn", async () => {
  const turns = new Turns();
  let begun = false;
  turns.accepted();
  turns.take(() => {
    begun = true;
  });
  expect(begun).toBe(false);
  await turn();
  await turn();
  await turn();
  expect(begun).toBe(true);
});
