import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { settleAll } from "../../../src/kernel/async/settle-all.ts";
import { TurnQueue } from "../../../src/kernel/async/turn-queue.ts";

const MIB = 2 ** 20;

test("items added at once are processed in order, one MiB per turn", async () => {
  const queue = new TurnQueue();
  const done: number[] = [];
  for (let n = 0; n < 10; n++) queue.take(MIB / 4, () => done.push(n));
  const perTurn = [done.length];
  while (done.length < 10) {
    await nextTurn();
    perTurn.push(done.length);
  }
  expect(perTurn).toEqual([4, 8, 10]);
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("callers that wait for a later turn at the same moment proceed in one each", async () => {
  const queue = new TurnQueue();
  let done = 0;
  const callers = Array.from({ length: 3 }, () => queue.next(MIB).then(() => done++));
  const perTurn = [done];
  while (done < 3) {
    await nextTurn();
    perTurn.push(done);
  }
  expect(perTurn.filter((count, n) => count !== perTurn[n - 1])).toEqual([0, 1, 2, 3]);
  await Promise.all(callers);
});

test("callers that have given up use up nothing of the turn in which they end", async () => {
  const queue = new TurnQueue();
  const gone = new AbortController();
  let turn = 0;
  const endedIn: number[] = [];
  const callers = [gone.signal, gone.signal, gone.signal, undefined].map((signal) =>
    queue.next(MIB, signal).then(() => endedIn.push(turn)),
  );
  gone.abort();
  while (endedIn.length < 4) {
    await nextTurn();
    turn++;
  }
  expect(new Set(endedIn).size).toBe(1);
  await Promise.all(callers);
});

test("an item does not overtake items that already wait", async () => {
  const queue = new TurnQueue();
  const done: string[] = [];
  queue.take(MIB, () => done.push("large"));
  queue.take(MIB, () => {
    done.push("waited");
    queue.take(1, () => done.push("last"));
  });
  queue.take(1, () => done.push("small"));
  while (done.length < 4) await nextTurn();
  expect(done).toEqual(["large", "waited", "small", "last"]);
});

test("all items settle at their index, within the concurrency limit, whichever of them fail", async () => {
  let [underWay, most] = [0, 0];
  const outcomes = await settleAll([5, 1, 4, 2, 3], 2, async (n) => {
    most = Math.max(most, ++underWay);
    for (let turn = 0; turn < n; turn++) await nextTurn();
    underWay--;
    if (n === 4) throw new Error("four");
    return n;
  });
  expect(
    outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : String(outcome.reason))),
  ).toEqual([5, 1, "Error: four", 2, 3]);
  expect(most).toBe(2);
});
