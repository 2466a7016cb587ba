import { Button, Group } from "@mantine/core";
import type { ComponentProps } from "react";
import type { List } from "../../data/list/use-list.ts";
import { DataTable } from "./data-table.tsx";

type Props<Row extends object> = Omit<ComponentProps<typeof DataTable<Row>>, "rows" | "error" | "onRetry"> & {
  readonly list: List<Row>;
};

/** A `DataTable` of a `useList`, with the buttons to its newer and older pages. */
export function ListTable<Row extends object>({ list, ...rest }: Props<Row>) {
  return (
    <>
      <DataTable {...rest} rows={list.rows} error={list.error} onRetry={list.refetch} />
      <Pager list={list} label={rest.label} />
    </>
  );
}

/** The buttons to the newer and older pages of a list; nothing for a list of one page. */
export function Pager({
  list: { newer, older, fetching },
  label,
}: {
  list: List<unknown>;
  /** What the list has, for screen readers. */
  label: string;
}) {
  if (!newer && !older) return null;
  return (
    <nav className="pager" aria-label={`Pages: ${label}`}>
      <Group gap="xs">
        <Button size="xs" variant="default" disabled={!newer || fetching} onClick={newer ?? (() => {})}>
          ← Newer
        </Button>
        <Button size="xs" variant="default" disabled={!older || fetching} onClick={older ?? (() => {})}>
          Older →
        </Button>
      </Group>
    </nav>
  );
}
