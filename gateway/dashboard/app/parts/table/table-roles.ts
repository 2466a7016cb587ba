/** The roles of the elements of a table. They are said since browsers forget them where a row is laid out as a card. */
export const ROLE = {
  table: "table",
  rowgroup: "rowgroup",
  row: "row",
  columnheader: "columnheader",
  cell: "cell",
} as const;
