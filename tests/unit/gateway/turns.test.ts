import { expect, test } from "vitest";
import { Turns } from "../../../gateway/http/turns.ts";
import { threadMs } from "../../support/attack/event-loop.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const busy = (ms: number) => {
  for (const end = threadMs() + ms; threadMs() < end; );
};

/** How many of `count` pieces of work, of which each takes `ms`, run in each turn of the event loop. */
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

test("cheap work runs many to a turn, and never more than the most", async () => {
  const counts = await perTurn(new Turns(8), 64, 0);
  // The turn that the test looks at may have the end of one and the whole of the next.
  expect(Math.max(...counts)).toBeLessThanOrEqual(16);
  expect(counts.length).toBeGreaterThanOrEqual(4);
});

test("while turns take long, one runs in each", async () => {
  const counts = await perTurn(new Turns(16), 40, 9);
  expect(counts.slice(3).every((count) => count === 1)).toBe(true);
});

test("what takes long in itself ends its turn, also in the first of a crowd", async () => {
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

test("everything runs once and in order, also what is added while others wait", async () => {
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

test("nothing begins while connections come, so that the last of a crowd is accepted at once", async () => {
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
  // What began with the turn of the first connection, before it came.
  expect(begun - before).toBeLessThanOrEqual(32);
  while (begun < 300) await turn();
});

test("connections without end put off what waits for a while, and not for good", async () => {
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

test("a request of a connection that came alone begins in the turn behind it", async () => {
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
