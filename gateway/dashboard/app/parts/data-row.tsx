import { Link, type LinkProps } from "@tanstack/react-router";
import type { KeyboardEvent, MouseEvent } from "react";
import type { Column } from "./column.ts";

const CONTROLS = "a, button, input, select, textarea, summary, label, [role=button]";

type Props<Row> = {
  readonly index: number;
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly link: LinkProps | undefined;
  onOpen(link: LinkProps): void;
  readonly measure?: (element: HTMLTableRowElement | null) => void;
};

/** A row. With a link, its first cell is the link, and a click anywhere else in it opens the page too. */
export function DataRow<Row>({ index, row, columns, link, onOpen, measure }: Props<Row>) {
  const open = (event: MouseEvent) => {
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if ((event.target as Element).closest(CONTROLS) || getSelection()?.toString()) return;
    onOpen(link);
  };
  return (
    <tr
      {...(link && { className: "linked", onClick: open, onKeyDown: moveFocus })}
      {...(measure && { ref: measure, "data-index": index, "aria-rowindex": index + 2 })}
    >
      {columns.map((column, n) => (
        <td
          key={column.id}
          className={column.isNumber ? "figure" : column.name === "" ? "buttons" : undefined}
        >
          {n === 0 && link ? (
            <Link {...link} data-row-link>
              {column.cell(row)}
            </Link>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

/** The arrow keys move between the links of rows; Enter opens one, as every link. */
function moveFocus(event: KeyboardEvent<HTMLTableRowElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (!(event.target instanceof Element) || !event.target.matches("[data-row-link]")) return;
  const row = event.currentTarget;
  const next = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
  const link = next?.querySelector<HTMLElement>("[data-row-link]");
  if (!link) return;
  event.preventDefault();
  link.focus();
}
