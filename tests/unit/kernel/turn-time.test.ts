import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { TurnTime } from "../../../src/kernel/async/turn-time.ts";

/** Occupies the event loop. */
function work(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test("pieces that become due together run in order, for a part of each turn", async () => {
  const turns = new TurnTime();
  const done: number[] = [];
  const all = Array.from({ length: 30 }, (_, n) =>
    turns.run(() => {
      work(3);
      done.push(n);
    }),
  );
  const perTurn = [done.length];
  while (done.length < 30) {
    await nextTurn();
    perTurn.push(done.length);
  }
  await Promise.all(all);
  expect(done).toEqual(Array.from({ length: 30 }, (_, n) => n));
  // A piece of 3 ms begins while less than 8 ms are spent, so that there are at most three in a turn.
  expect(perTurn.every((count, n) => count - (perTurn[n - 1] ?? 0) <= 3)).toBe(true);
});

test("a piece runs at once where the turn has time, and returns or throws as if it were called", async () => {
  const turns = new TurnTime();
  expect(turns.run(() => 1)).toBe(1);
  expect(() => turns.run(() => JSON.parse("{"))).toThrow(SyntaxError);
  work(1);
  turns.run(() => work(9));
  const [waits, fails] = [turns.run(() => 2), turns.run(() => JSON.parse("{"))];
  expect(waits).toBeInstanceOf(Promise);
  await expect(waits).resolves.toBe(2);
  await expect(fails).rejects.toThrow(SyntaxError);
});
