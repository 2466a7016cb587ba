import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteLru } from "../../../src/kernel/byte-lru.ts";
import { hedged } from "../../../src/storage/node/remote/hedged.ts";
import { holds, isShard, selectNodes } from "../../../src/storage/node/remote/shards.ts";

describe("selecting nodes by their shards", () => {
  const shard = fc
    .nat(4)
    .chain((power) => fc.record({ numShard: fc.constant(2 ** power), shardId: fc.nat(2 ** power - 1) }));

  test("a selection holds every segment as often as required, and is found whenever all nodes together do", () => {
    fc.assert(
      fc.property(fc.array(shard, { maxLength: 24 }), fc.integer({ min: 1, max: 3 }), (nodes, replicas) => {
        const copies = (of: typeof nodes, part: number) =>
          of.filter(({ shardId, numShard }) => part % numShard === shardId).length;
        const parts = Array.from({ length: 16 }, (_, part) => part);
        const selected = selectNodes(nodes, replicas);
        expect(selected !== undefined).toBe(parts.every((part) => copies(nodes, part) >= replicas));
        if (!selected) return;
        for (const part of parts) expect(copies([...selected], part)).toBeGreaterThanOrEqual(replicas);
        expect(new Set(selected).size).toBe(selected.length);
      }),
    );
  });

  test("nodes with the largest share come first, and none without a contribution is selected", () => {
    const [whole, even, odd] = [
      { shardId: 0, numShard: 1 },
      { shardId: 0, numShard: 2 },
      { shardId: 1, numShard: 2 },
    ];
    expect(selectNodes([odd, whole, even], 1)).toEqual([whole]);
    expect(selectNodes([odd, whole, even], 2)).toEqual([whole, even, odd]);
    expect(selectNodes([even, { shardId: 3, numShard: 4 }], 1)).toBeUndefined();
    expect(selectNodes([], 1)).toBeUndefined();
  });

  test("the shard of a segment is computed from its place in the flow, not in the file", () => {
    const third = { shardId: 3, numShard: 4 };
    expect([0, 1, 2, 3, 4].filter((index) => holds(third, 2_048n, index))).toEqual([1]);
    expect(holds({ shardId: 1, numShard: 4 }, 2n ** 64n + 1_024n, 0)).toBe(true);
  });

  test("an invalid share is rejected", () => {
    for (const [shardId, numShard] of [
      [0, 0],
      [1, 1],
      [-1, 2],
      [0, 3],
      [0.5, 2],
      [0, 2_048],
    ] as const)
      expect(isShard({ shardId, numShard })).toBe(false);
    expect(isShard({ shardId: 1_023, numShard: 1_024 })).toBe(true);
  });
});

describe("failover between nodes", () => {
  const times = { hedgeMs: 20, deadlineMs: 2_000 };
  const never = (signal: AbortSignal) => sleep(60_000, undefined, { signal, ref: false });

  test("the next node is tried at once when one fails, and in parallel when one is slow", async () => {
    const asked: string[] = [];
    const answer = await hedged(
      ["fails", "sleeps", "answers"],
      async (name, signal) => {
        asked.push(name);
        if (name === "fails") throw new Error("no");
        if (name === "sleeps") await never(signal);
        return name;
      },
      times,
    );
    expect([answer, asked]).toEqual(["answers", ["fails", "sleeps", "answers"]]);
  });

  test("requests that are no longer needed are aborted", async () => {
    let isAborted = false;
    await hedged(
      ["slow", "quick"],
      async (name, signal) => {
        if (name === "quick") return name;
        signal.addEventListener("abort", () => {
          isAborted = true;
        });
        await never(signal);
        return name;
      },
      times,
    );
    expect(isAborted).toBe(true);
  });

  test("it fails with the last failure, at the deadline, or with the caller's abort", async () => {
    const failing = hedged(
      [1, 2],
      async (n) => {
        throw new Error(`no ${n}`);
      },
      times,
    );
    await expect(failing).rejects.toThrow("no 2");
    await expect(hedged([], async () => 1, times)).rejects.toThrow("no candidates");
    const late = hedged([1], (_, signal) => never(signal), { ...times, deadlineMs: 30 });
    await expect(late).rejects.toThrow();
    const leaving = new AbortController();
    const left = hedged([1], (_, signal) => never(signal), { ...times, signal: leaving.signal });
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
  });
});

test("a cache bounded by bytes keeps the most recently used entries, and none that is too large", () => {
  const cache = new ByteLru<string>({ maxBytes: 10, maxShare: 1 });
  cache.set("a", "a", 4);
  cache.set("b", "b", 4);
  cache.get("a");
  cache.set("c", "c", 4);
  cache.set("huge", "huge", 11);
  expect(["a", "b", "c", "huge"].map((key) => cache.get(key))).toEqual(["a", undefined, "c", undefined]);
});
