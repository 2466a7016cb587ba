import { saveFile } from "../../data/save-file.ts";

/** A column of a file: its head, and the text of a row. */
export type CsvColumn<Row> = { readonly name: string; text(row: Row): string };

/** Rows as CSV (RFC 4180), with or without the line of heads. A text that a spreadsheet would take for a formula has an apostrophe before it. */
export function toCsv<Row>(
  columns: readonly CsvColumn<Row>[],
  rows: readonly Row[],
  { withHead = true }: { readonly withHead?: boolean } = {},
): string {
  const lines = [
    ...(withHead ? [columns.map(({ name }) => cell(name))] : []),
    ...rows.map((row) => columns.map((one) => cell(one.text(row)))),
  ];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

/** Saves rows as a file of the visitor's. */
export function saveCsv<Row>(file: string, columns: readonly CsvColumn<Row>[], rows: readonly Row[]): void {
  saveFile(file, new Blob([toCsv(columns, rows)], { type: "text/csv" }));
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
