import { expect, test } from "vitest";
import { mergeHead } from "../../../gateway/dashboard/app/data/list/list-span.ts";

const span = (nodes: readonly string[], hasNextPage = true) => ({
  nodes,
  pageInfo: { hasNextPage, endCursor: nodes.at(-1) ?? null },
});
const merge = (known: readonly string[], head: readonly string[], hasNextPage = true) =>
  mergeHead(span(known), span(head, hasNextPage), (row) => row.replace(/!$/, ""), 5);

test("new rows are added before those that are known, and changed ones replaced", () => {
  const { span: merged, hasNew } = merge(["c", "b", "a"], ["d", "c!", "b"]);
  expect(merged.nodes).toEqual(["d", "c!", "b", "a"]);
  expect(merged.pageInfo.endCursor).toBe("a");
  expect(hasNew).toBe(true);
});

test("a row that no longer matches is left out", () => {
  const { span: merged, hasNew } = merge(["d", "c", "b", "a"], ["d", "b"]);
  expect(merged.nodes).toEqual(["d", "b", "a"]);
  expect(hasNew).toBe(false);
});

test("after more new rows than a page has, the list begins again: it never has a gap", () => {
  const { span: merged } = merge(["b", "a"], ["z", "y", "x"]);
  expect(merged.nodes).toEqual(["z", "y", "x"]);
  expect(merged.pageInfo.endCursor).toBe("x");
});

test("a whole list is taken as it is, also when it has become empty", () => {
  expect(merge(["b", "a"], [], false).span.nodes).toEqual([]);
  expect(merge(["b", "a"], ["b"], false).span.nodes).toEqual(["b"]);
});

test("a head that reaches beyond what is known has the cursor of the next page", () => {
  const { span: merged } = merge(["b", "a"], ["b", "a", "0"]);
  expect(merged.nodes).toEqual(["b", "a", "0"]);
  expect(merged.pageInfo.endCursor).toBe("0");
});

test("the list of a page that stays open begins again when it would have more rows than a list may have", () => {
  expect(merge(["d", "c", "b", "a"], ["e", "d"]).span.nodes).toEqual(["e", "d", "c", "b", "a"]);
  const { span: merged } = merge(["e", "d", "c", "b", "a"], ["f", "e"]);
  expect(merged).toEqual({ nodes: ["f", "e"], pageInfo: { hasNextPage: true, endCursor: "e" } });
  // Its rows may change.
  expect(merge(["e", "d", "c", "b", "a"], ["e!", "d"]).span.nodes).toEqual(["e!", "d", "c", "b", "a"]);
});
