import { UnstyledButton } from "@mantine/core";
import ArrowDown from "lucide-react/icons/arrow-down";
import ArrowUp from "lucide-react/icons/arrow-up";
import ArrowUpDown from "lucide-react/icons/arrow-up-down";
import type { Column } from "./column.ts";
import { ROLE } from "./table-roles.ts";

/** The head of a column; with a field of the order it is a button that sorts by it, descending first. */
export function ColumnHead<Row>({
  column: { name, sort: field, isNumber },
  sort,
  onSort,
}: {
  column: Column<Row>;
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
}) {
  const className = isNumber ? "figure" : undefined;
  if (name === "") return <td className={className} role={ROLE.cell} />;
  if (!field || !onSort)
    return (
      <th scope="col" role={ROLE.columnheader} className={className}>
        {name}
      </th>
    );
  const direction = sort === field ? "ascending" : sort === `-${field}` ? "descending" : "none";
  const Icon = { ascending: ArrowUp, descending: ArrowDown, none: ArrowUpDown }[direction];
  return (
    <th scope="col" role={ROLE.columnheader} className={className} aria-sort={direction}>
      <UnstyledButton
        className={direction === "none" ? "sorter" : "sorter on"}
        onClick={() => onSort(direction === "descending" ? field : `-${field}`)}
      >
        {name} <Icon size={13} aria-hidden="true" />
      </UnstyledButton>
    </th>
  );
}
