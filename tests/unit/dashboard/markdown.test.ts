import { expect, test } from "vitest";
import { toBlocks } from "../../../gateway/dashboard/app/pages/playground/markdown/markdown.ts";
import { timeTurn } from "../../support/attack/event-loop.ts";

const words = (text: string) => [{ kind: "text", text }];

test("paragraphs, headings, lists, quotes, rules, tables and code are blocks", () => {
  const text = [
    "# Tides",
    "Two a day,",
    "mostly.",
    "",
    "- one",
    "  - inner",
    "3. third",
    "",
    "> said",
    "",
    "---",
    "| a | b |",
    "|---|:-:|",
    "| 1 |",
    "```ts",
    "const a = 1 < 2;",
    "```",
  ].join("\n");
  expect(toBlocks(text)).toEqual([
    { kind: "heading", level: 1, parts: words("Tides") },
    { kind: "paragraph", parts: words("Two a day,\nmostly.") },
    {
      kind: "list",
      items: [
        { depth: 0, number: undefined, parts: words("one") },
        { depth: 1, number: undefined, parts: words("inner") },
        { depth: 0, number: 3, parts: words("third") },
      ],
    },
    { kind: "quote", parts: words("said") },
    { kind: "rule" },
    { kind: "table", head: [words("a"), words("b")], rows: [[words("1"), []]] },
    { kind: "code", language: "ts", text: "const a = 1 < 2;" },
  ]);
});

test("code whose fence has not arrived yet is code", () => {
  expect(toBlocks("```\nab\n``")).toEqual([{ kind: "code", language: "", text: "ab\n``" }]);
});

test("marks in a line are parts, and unpaired ones are text", () => {
  expect(toBlocks("a **b** `c*d*` *e* 2 * 3 * 4 ** f [g](https://h.example/i)")).toEqual([
    {
      kind: "paragraph",
      parts: [
        { kind: "text", text: "a " },
        { kind: "strong", text: "b" },
        { kind: "text", text: " " },
        { kind: "code", text: "c*d*" },
        { kind: "text", text: " " },
        { kind: "emphasis", text: "e" },
        { kind: "text", text: " 2 * 3 * 4 ** f " },
        { kind: "link", href: "https://h.example/i", text: "g" },
      ],
    },
  ]);
});

test("HTML and links of other schemes are text", () => {
  for (const text of [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](data:text/html,b)",
    "![a](//b.example)",
  ])
    expect(toBlocks(text)).toEqual([{ kind: "paragraph", parts: words(text) }]);
});

test("a hostile text takes time in proportion to its length", () => {
  const LENGTH = 99_000;
  for (const part of [
    "`",
    "**",
    "*a ",
    "[",
    "[a](",
    "|-",
    "> ",
    "- ",
    "#",
    "```\n",
    "``\n",
    " ",
    "[a](https://b",
    "|\n|-|\n",
  ]) {
    const text = part.repeat(Math.floor(LENGTH / part.length));
    const { ms } = timeTurn(() => [toBlocks(text), toBlocks(text.replaceAll("\n", ""))]);
    expect(ms, JSON.stringify(part)).toBeLessThan(100);
  }
});

test("one line of many backticks or spaces takes time in proportion to its length", () => {
  const LENGTH = 19_900;
  for (const text of [
    `a ${"`".repeat(LENGTH)}`,
    `a ${"`".repeat(LENGTH / 2)}b${"`".repeat(LENGTH / 2 - 1)}`,
    `a|b\n|-${" ".repeat(LENGTH)}x`,
    `a|b\n|${"-".repeat(LENGTH)}x`,
    `a|b\n${"|-   ".repeat(LENGTH / 5)}x`,
  ]) {
    const { ms } = timeTurn(() => toBlocks(text));
    expect(ms, text.slice(0, 12)).toBeLessThan(100);
  }
});

test("code is between rows of as many backticks", () => {
  expect(toBlocks("``a`` `b` ``c`")).toEqual([
    {
      kind: "paragraph",
      parts: [{ kind: "code", text: "a" }, ...words(" "), { kind: "code", text: "b" }, ...words(" ``c`")],
    },
  ]);
});

test("a text that is too long to format is shown as it is", () => {
  const text = "# a\n".repeat(30_000);
  expect(toBlocks(text)).toEqual([{ kind: "code", language: "", text }]);
});
