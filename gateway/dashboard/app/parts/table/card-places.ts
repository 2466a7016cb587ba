/**
 * Where a column is on a narrow screen, on which each row is a card. First line: the title, and at its end what is at the
 * side. Below it: the mark, which needs no label, then the lines, each with the name of its column, then the actions.
 */
export type NarrowPlace = "title" | "side" | "mark" | "line" | "actions" | "hidden";

/** The part of a column that its place follows from. */
type Placed = { readonly id: string; readonly name: string; readonly narrow?: NarrowPlace };

/** Columns that say how a row is, and what it costs: their places where they do not say another. */
const USUAL: Readonly<Record<string, NarrowPlace>> = {
  state: "mark",
  cost: "side",
  amount: "side",
  price: "side",
  spent: "side",
  total: "side",
};

/** Columns with the time of a row; a row with a model is named by the model instead. */
const TIMES = ["when", "made", "seen", "created"];

/** The place of each column in the card of a narrow screen. */
export function placesOf(columns: readonly Placed[]): readonly NarrowPlace[] {
  const title = titleOf(columns);
  return columns.map(({ id, name, narrow }, n) => {
    if (narrow) return narrow;
    if (n === title) return "title";
    if (n === 0 && TIMES.includes(id)) return "mark";
    return name === "" ? "actions" : (USUAL[id] ?? "line");
  });
}

/** The column that is the title, by its index: the first one if no other one is. */
function titleOf(columns: readonly Placed[]): number {
  const own = columns.findIndex(({ narrow }) => narrow === "title");
  if (own >= 0) return own;
  const model = TIMES.includes(columns[0]?.id ?? "") ? columns.findIndex(({ id }) => id === "model") : -1;
  return Math.max(0, model);
}
