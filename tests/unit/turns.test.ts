import { expect, test } from "vitest";
import { Turns } from "../../gateway/request-gate.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const busy = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; );
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
