// @module-tag large
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { InProgress } from "../../../src/kernel/async/in-progress.ts";
import { TransientMap } from "../../../src/kernel/transient-map.ts";

const KEYS = fc.integer({ min: 0, max: 40 });
const STEPS = fc.array(fc.tuple(fc.boolean(), KEYS), { maxLength: 400 });

test("it has the entries of a map, in their order", () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const [map, transient] = [new Map<number, number>(), new TransientMap<number, number>()];
      for (const [n, [isSet, key]] of steps.entries()) {
        if (isSet) {
          map.set(key, n);
          transient.set(key, n);
        } else expect(transient.delete(key)).toBe(map.delete(key));
        expect([transient.size, transient.get(key), transient.has(key)]).toEqual([
          map.size,
          map.get(key),
          map.has(key),
        ]);
        expect(transient.values()).toEqual([...map.values()]);
      }
    }),
  );
});

/** Requests at the same time, each with some 8 kB, of `COUNT` in all: 160 MB. */
const [AT_ONCE, COUNT] = [16, 20_000];

test.each([
  ["a TransientMap", () => new TransientMap<number, unknown>(), 0, 4],
  // What the class is for: without it, this would fail.
  ["a Map", () => new Map<number, unknown>(), 8, Number.POSITIVE_INFINITY],
] as const)("what %s no longer has is collected with the young objects", (_, create, leastMiB, mostMiB) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "major" | "minor" }) => void;
  const map = create();
  for (let n = 0; n < AT_ONCE; n++) map.set(n, {});
  collect({ type: "major" });
  const before = oldBytes();
  for (let n = AT_ONCE; n < COUNT; n++) {
    map.set(
      n,
      Array.from({ length: 1_000 }, () => n),
    );
    map.delete(n - AT_ONCE);
    if (n % 100 === 0) collect({ type: "minor" });
  }
  const grownMiB = (oldBytes() - before) / 1_048_576;
  expect(grownMiB).toBeGreaterThanOrEqual(leastMiB);
  expect(grownMiB).toBeLessThan(mostMiB);
});

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")?.space_used_size ?? 0;
}

test("work in progress is waited for, whether or not it succeeds", async () => {
  const work = new InProgress();
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const added = work.add(first.promise);
  const failing = expect(work.add(second.promise)).rejects.toThrow("failed");
  expect(work.size).toBe(2);
  let isSettled = false;
  const settled = work.settled().then(() => {
    isSettled = true;
  });
  first.resolve(7);
  expect(await added).toBe(7);
  expect([work.size, isSettled]).toEqual([1, false]);
  second.reject(new Error("failed"));
  await failing;
  await settled;
  expect(work.size).toBe(0);
});
