import type { ReactNode } from "react";
import type { NarrowPlace } from "./card-places.ts";

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
