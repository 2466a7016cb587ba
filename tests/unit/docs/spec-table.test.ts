import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const TABLE = readFileSync("schema/spec-table.md", "utf8");
const rows = TABLE.split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) =>
    line
      .slice(2, -2)
      .split(/ (?<!\\)\| /)
      .map((cell) => cell.trim()),
  );
const NAMED = /`(tests\/[\w/.-]+\.test\.ts)`: "(.+?)"(?=<br>|$)/g;

test("the table covers every section of SPEC and has no empty cell", () => {
  const sections = new Set(rows.map(([section = ""]) => section.split(".")[0]));
  expect([...sections]).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  for (const row of rows) {
    expect(row).toHaveLength(4);
    for (const cell of row) expect(cell, row.join(" | ")).not.toBe("");
  }
});

test("every test named in the table exists under its title, and rows without tests say so", () => {
  const texts = new Map<string, string>();
  for (const [section, sentence, , tests = ""] of rows) {
    const named = [...tests.matchAll(NAMED)];
    expect(named.length > 0 || tests === "no test", `${section} ${sentence}`).toBe(true);
    for (const [, file = "", title = ""] of named) {
      expect(existsSync(file), file).toBe(true);
      const text = texts.get(file) ?? readFileSync(file, "utf8");
      texts.set(file, text);
      expect(text.includes(`"${title}"`), `${file}: "${title}"`).toBe(true);
    }
  }
});
