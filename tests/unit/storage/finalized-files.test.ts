import { expect, test } from "vitest";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { FinalizedFiles } from "../../../src/storage/node/disk/finalized-files.ts";
import type { FoundFile } from "../../../src/storage/node/held/held-files.store.ts";

const file = (root: Hex, generation: bigint) => ({ root, generation }) as FoundFile;

test("a result is cached as long as the generation stays the same", async () => {
  let [asked, generation] = [0, 4n];
  const known = new FinalizedFiles(async () => {
    asked++;
    return generation;
  });
  expect(await known.get("0x01")).toBeUndefined();
  known.keep(file("0x01", 4n));
  known.keep(file("0x02", 4n));
  expect(await Promise.all([known.get("0x01"), known.get("0x02")])).toEqual([
    file("0x01", 4n),
    file("0x02", 4n),
  ]);
  expect(asked).toBe(1);
  known.forget("0x02");
  expect(await known.get("0x02")).toBeUndefined();
  generation = 5n;
  // A lookup of another file reveals it before anything else does.
  known.keep(file("0x03", 5n));
  expect([await known.get("0x01"), await known.get("0x03")]).toEqual([undefined, file("0x03", 5n)]);
});

test("an answer from before a change is not cached after it, in either order of arrival", async () => {
  const known = new FinalizedFiles(async () => 6n);
  known.keep(file("0x01", 5n));
  // The fetched generation turns out to be another one.
  expect(await known.get("0x01")).toBeUndefined();
  known.keep(file("0x02", 5n));
  expect(await known.get("0x02")).toBeUndefined();
  known.keep(file("0x02", 6n));
  expect(await known.get("0x02")).toEqual(file("0x02", 6n));
});

test("when the generation cannot be fetched, nothing is assumed", async () => {
  const known = new FinalizedFiles(async () => {
    throw new Error("away");
  });
  known.keep(file("0x01", 1n));
  await expect(known.get("0x01")).rejects.toThrow("away");
});
