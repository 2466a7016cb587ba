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

test("a cache that is half full stores a new key when it comes again", () => {
  const lru = new ByteLru<number>({ maxBytes: 100, maxShare: 1, admitsSecond: true });
  for (let n = 0; n < 1_000; n++) lru.set(`once ${n}`, n, 1);
  expect(lru.get("once 0")).toBe(0);
  // A few are taken for keys that were seen.
  expect(lru.sizeBytes).toBeLessThan(75);
  lru.set("twice", 1, 1);
  lru.set("twice", 2, 1);
  expect(lru.get("twice")).toBe(2);
  lru.set("twice", 3, 1);
  expect(lru.get("twice")).toBe(3);
});
