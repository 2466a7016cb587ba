import { Link, type LinkProps } from "@tanstack/react-router";
import { type KeyboardEvent, type MouseEvent, memo, type ReactNode } from "react";
import type { NarrowPlace } from "./card-places.ts";
import type { Column } from "./column.ts";
import { ROLE } from "./table-roles.ts";

const CONTROLS = "a, button, input, select, textarea, summary, label, [role=button]";

type Props<Row> = {
  readonly index: number;
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly places: readonly NarrowPlace[];
  linkOf?: ((row: Row) => LinkProps | undefined) | undefined;
  onOpen(link: LinkProps): void;
  readonly measure?: (element: HTMLTableRowElement | null) => void;
};

/**
 * A row, which renders again only when one of its properties changes: a long list renders at every frame of scrolling.
 * On a narrow screen it is a card, in which each cell has its place. With a link, its first cell is the link, and a
 * click anywhere else in it opens the page too.
 */
export const DataRow = memo(function DataRow<Row>(props: Props<Row>) {
  const { index, row, columns, places, linkOf, onOpen, measure } = props;
  const link = linkOf?.(row);
  const open = (event: MouseEvent) => {
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if ((event.target as Element).closest(CONTROLS) || getSelection()?.toString()) return;
    onOpen(link);
  };
  return (
    <tr
      role={ROLE.row}
      {...(link && { className: "linked", onClick: open, onKeyDown: moveFocus })}
      {...(measure && { ref: measure, "data-index": index, "aria-rowindex": index + 2 })}
    >
      {columns.map((column, n) => (
        <td key={column.id} role={ROLE.cell} data-label={column.name} className={classOf(column, places[n])}>
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
}) as <Row>(props: Props<Row>) => ReactNode;

function classOf<Row>({ isNumber, name }: Column<Row>, place: NarrowPlace | undefined): string {
  const kind = isNumber ? "figure " : name === "" ? "buttons " : "";
  return `${kind}at-${place}`;
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
