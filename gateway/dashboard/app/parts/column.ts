import type { ReactNode } from "react";

/**
 * Where a column is on a narrow screen, on which each row is a card. First line: the title, and at its end what is at the
 * side. Below it: the mark, which needs no label, then the lines, each with the name of its column, then the actions.
 */
export type NarrowPlace = "title" | "side" | "mark" | "line" | "actions" | "hidden";

/** A column of a `DataTable`. */
export type Column<Row> = {
  readonly id: string;
  /** The head. Empty for actions, which then cannot be hidden. */
  readonly name: string;
  cell(row: Row): ReactNode;
  /** For figures: aligned at the end, and tabular. */
  readonly isNumber?: boolean;
  /** The field of the list's order on the server, such as `COST`: the head sorts by it. */
  readonly sort?: string;
  /** The text of the column in a CSV file; without it the file does not have the column. */
  text?(row: Row): string;
  /** Its place in the card of a narrow screen; `placesOf` has the default. */
  readonly narrow?: NarrowPlace;
  /** Hidden unless the user chooses it. */
  readonly isHidden?: boolean;
};

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
export function placesOf<Row>(columns: readonly Column<Row>[]): readonly NarrowPlace[] {
  const title = titleOf(columns);
  return columns.map(({ id, name, narrow }, n) => {
    if (narrow) return narrow;
    if (n === title) return "title";
    if (n === 0 && TIMES.includes(id)) return "mark";
    return name === "" ? "actions" : (USUAL[id] ?? "line");
  });
}

/** The column that is the title, by its index: the first one if no other one is. */
function titleOf<Row>(columns: readonly Column<Row>[]): number {
  const own = columns.findIndex(({ narrow }) => narrow === "title");
  if (own >= 0) return own;
  const model = TIMES.includes(columns[0]?.id ?? "") ? columns.findIndex(({ id }) => id === "model") : -1;
  return Math.max(0, model);
}
