import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("no statement has a condition that is skipped when a parameter is null", () => {
  // One plan fits neither case: a generic plan then reads every account's rows, or the whole list for one
  // page.
  const optional = /\$(?:\d+|\{[^}]*\})(?:::\w+)? is null\s+or\b/i;
  const files = globSync("{src,subgraphs,gateway}/**/*.ts");
  expect(files.length).toBeGreaterThan(200);
  expect(files.filter((file) => optional.test(readFileSync(file, "utf8")))).toEqual([]);
});
