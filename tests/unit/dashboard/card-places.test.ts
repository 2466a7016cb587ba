import { expect, test } from "vitest";
import { placesOf } from "../../../gateway/dashboard/app/parts/table/card-places.ts";

const columns = (...ids: readonly string[]) =>
  ids.map((id) => ({ id, name: id === "actions" ? "" : id, cell: () => id }));

test("the first column is the title of a card, beside its cost, and its state needs no label", () => {
  expect(placesOf(columns("name", "state", "lastUsed", "cost", "actions"))).toEqual([
    "title",
    "mark",
    "line",
    "side",
    "actions",
  ]);
});

test("a row that begins with its time is named by its model, or else by its time", () => {
  expect(placesOf(columns("when", "model", "cost"))).toEqual(["mark", "title", "side"]);
  expect(placesOf(columns("seen", "amount", "transaction"))).toEqual(["title", "side", "line"]);
});

test("a column's own place comes first", () => {
  const [name, root] = columns("name", "root");
  if (!name || !root) throw new Error("two columns are expected");
  expect(placesOf([name, { ...root, narrow: "title" }])).toEqual(["line", "title"]);
  expect(placesOf([name, { ...root, narrow: "hidden" }])).toEqual(["title", "hidden"]);
});
