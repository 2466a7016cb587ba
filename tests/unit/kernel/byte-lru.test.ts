import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteLru } from "../../../src/kernel/byte-lru.ts";

test("a cache never exceeds its bounds, whatever is written, read and deleted", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
    size: fc.nat({ max: 40 }),
    kind: fc.constantFrom("set", "set", "get", "delete"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const lru = new ByteLru<number>({ maxBytes: 100, maxEntries: 5, maxShare: 0.3 });
      const kept = new Map<string, number>();
      for (const { key, size, kind } of steps) {
        if (kind === "set") lru.set(key, size, size);
        else if (kind === "delete") lru.delete(key);
        else if (lru.get(key) !== undefined) expect(lru.get(key)).toBe(kept.get(key));
        if (kind === "set") kept.set(key, size);
        const found = [..."abcdefg"].map((one) => lru.get(one)).filter((value) => value !== undefined);
        expect(found.length).toBeLessThanOrEqual(5);
        expect(lru.sizeBytes).toBeLessThanOrEqual(100);
        expect(lru.sizeBytes).toBe(found.reduce((sum, value) => sum + value, 0));
        if (kind === "set" && size <= 30) expect(lru.get(key)).toBe(size);
      }
    }),
  );
});

test("frequently read entries stay, others are evicted", () => {
  const lru = new ByteLru<string>({ maxBytes: 1_000, maxEntries: 3, maxShare: 1 });
  lru.set("read", "kept", 1);
  for (let n = 0; n < 20; n++) {
    lru.set(`once ${n}`, "gone", 1);
    expect(lru.get("read")).toBe("kept");
  }
  expect(lru.get("once 0")).toBeUndefined();
});

test("a cache that is an eighth full stores a new key when it comes again", () => {
  const lru = new ByteLru<number>({ maxBytes: 100, maxShare: 1, isSelective: true });
  for (let n = 0; n < 1_000; n++) lru.set(`once ${n}`, n, 1);
  expect(lru.get("once 0")).toBe(0);
  // A few are taken for keys that were seen.
  expect(lru.sizeBytes).toBeLessThan(35);
  lru.set("twice", 1, 1);
  lru.set("twice", 2, 1);
  expect(lru.get("twice")).toBe(2);
  lru.set("twice", 3, 1);
  expect(lru.get("twice")).toBe(3);
});

test.each([
  ["bytes", { maxBytes: 100 }],
  ["entries", { maxBytes: 10_000, maxEntries: 100 }],
])(
  "a selective cache, full by %s, keeps most of what it has while more keys come in turn than fit",
  (_, limits) => {
    const lru = new ByteLru<number>({ ...limits, maxShare: 1, isSelective: true });
    let [hits, reads] = [0, 0];
    for (let round = 0; round < 20; round++)
      for (let n = 0; n < 250; n++) {
        const found = lru.get(`key ${n}`) !== undefined;
        if (!found) lru.set(`key ${n}`, n, 1);
        if (round < 4) continue;
        reads++;
        if (found) hits++;
      }
    // 100 of 250 fit: without selection, each is evicted before it is read.
    expect(hits / reads).toBeGreaterThan(0.25);
  },
);

test("a selective cache that is full of entries which are no longer read accepts others at once", () => {
  const lru = new ByteLru<number>({ maxBytes: 100, maxShare: 1, isSelective: true });
  const read = (key: string) => {
    const isKnown = lru.get(key) !== undefined;
    if (!isKnown) lru.set(key, 1, 1);
    return isKnown;
  };
  for (let round = 0; round < 20; round++) for (let n = 0; n < 100; n++) read(`old ${n}`);
  let misses = 0;
  for (let round = 0; round < 20; round++) for (let n = 0; n < 90; n++) if (!read(`new ${n}`)) misses++;
  expect(misses).toBeLessThan(8 * 90);
  for (let n = 0; n < 90; n++) expect(read(`new ${n}`)).toBe(true);
});
