import { expect, test } from "vitest";
import { countRows } from "../../../src/db/count-rows.ts";

/** A database that has so many rows and expects others; the statements that it received. */
function databaseOf({ rows, expected }: { readonly rows: number; readonly expected: number }) {
  const statements: string[] = [];
  return {
    statements,
    rows: async <Row>(text: string) => {
      statements.push(text.replace(/ .*/, ""));
      const plan = { "QUERY PLAN": [{ Plan: { "Plan Rows": expected } }] };
      return [text.startsWith("explain") ? plan : { rows: Math.min(rows, 10_001) }] as Row[];
    },
  };
}

test.each([
  ["few are counted", { rows: 7, expected: 50_000 }, false, { rows: 7, isExact: true }, ["select"]],
  [
    "many are estimated",
    { rows: 60_000, expected: 50_000 },
    false,
    { rows: 50_000, isExact: false },
    ["select", "explain"],
  ],
  [
    "of many, no fewer are estimated than were counted",
    { rows: 60_000, expected: 5 },
    false,
    { rows: 10_001, isExact: false },
    ["select", "explain"],
  ],
  [
    "few that are costly are counted",
    { rows: 7, expected: 9 },
    true,
    { rows: 7, isExact: true },
    ["explain", "select"],
  ],
  [
    "many that are costly are not counted",
    { rows: 60_000, expected: 50_000 },
    true,
    { rows: 50_000, isExact: false },
    ["explain"],
  ],
] as const)("%s", async (_, sizes, isCostly, count, statements) => {
  const database = databaseOf(sizes);
  const statement = { text: "select 1 from list", values: [] };
  expect(await countRows(database, statement, "id", { isCostly })).toEqual(count);
  expect(database.statements).toEqual(statements);
});
