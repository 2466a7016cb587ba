import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { routes } from "../../../src/rest/routes.ts";

const page = readFileSync("docs/comparison.md", "utf8");
/** The rows of the tables that compare, as cells: what it is, zerograph, and the five others. */
const ROWS = page
  .split(/^## /m)
  .filter((section) => section.includes("| zerograph |"))
  .flatMap((section) => [...section.matchAll(/^\| (.*) \|$/gm)].slice(1))
  .map(([, row = ""]) => row.split(" | "));
/** Rows that no test can show. */
const STATED = ["Where it runs", "Licence", "Written in", "Added latency, as its maker states"];
const testsOf = (cell: string) =>
  [...cell.matchAll(/\]\(\.\.\/(tests\/[^)]+\.test\.ts)\)/g)].map(([, file = ""]) => file);

test("every row says something of each product, and what zerograph has is linked to a test", () => {
  expect(ROWS.length).toBeGreaterThan(60);
  for (const [what = "", own = "", ...others] of ROWS) {
    expect(others.length, what).toBe(5);
    for (const cell of [what, own, ...others]) expect(cell.trim(), what).not.toBe("");
    if (own.startsWith("no") || STATED.includes(what)) continue;
    expect(testsOf(own), what).not.toEqual([]);
  }
});

test("every linked test exists", () => {
  for (const file of testsOf(page)) expect(existsSync(file), file).toBe(true);
});

test("every billed route has a row, whose tests call it", () => {
  for (const { method, url } of routes.filter(({ isAdmitted }) => isAdmitted)) {
    const [, own = ""] = ROWS.find(([what]) => what === `\`${method} ${url}\``) ?? [];
    const called = testsOf(own).filter((file) => readFileSync(file, "utf8").includes(url));
    expect(called, `${method} ${url} in docs/comparison.md`).not.toEqual([]);
  }
});

test("every claim of another product that has a source names one that is listed, and each is used", () => {
  const defined = [...page.matchAll(/^\[(\w+)\]: https:\/\/\S+$/gm)].map(([, name]) => name);
  const used = [...page.matchAll(/\]\[(\w+)\]/g)].map(([, name]) => name);
  expect(new Set(used)).toEqual(new Set(defined));
  expect(defined).toHaveLength(new Set(defined).size);
});
