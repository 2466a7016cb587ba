import { Button, Checkbox, Group, Popover, Stack } from "@mantine/core";
import Columns3 from "lucide-react/icons/columns-3";
import Download from "lucide-react/icons/download";
import type { ReactNode } from "react";
import type { Column } from "./column.ts";
import type { Visibility } from "./column-choice.ts";
import { saveCsv } from "./csv.ts";

type Props<Row> = {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | undefined;
  readonly visibility: Visibility;
  onChoose?(id: string, isShown: boolean): void;
  readonly csv?: string;
  readonly tools?: ReactNode;
  readonly children: ReactNode;
};

/** Above a table: its filters, the choice of its columns, and its rows as a file. */
export function TableTools<Row>({ columns, rows, visibility, onChoose, csv, tools, children }: Props<Row>) {
  const named = columns.filter(({ name }) => name !== "");
  const save = () => {
    const texts = columns.flatMap(({ name, text }) => (text ? [{ name, text }] : []));
    saveCsv(csv ?? "rows.csv", texts, rows ?? []);
  };
  return (
    <div className="table-tools">
      <Group gap="xs">{children}</Group>
      <Group gap="xs">
        {onChoose && (
          <Popover position="bottom-end" trapFocus returnFocus shadow="md">
            <Popover.Target>
              <Button variant="default" size="xs" leftSection={<Columns3 size={14} />}>
                Columns
              </Button>
            </Popover.Target>
            <Popover.Dropdown>
              <Stack gap="xs">
                {named.map(({ id, name }, n) => (
                  <Checkbox
                    key={id}
                    size="sm"
                    label={name}
                    // The first column names the row.
                    disabled={n === 0}
                    checked={visibility[id] ?? true}
                    onChange={({ currentTarget }) => onChoose(id, currentTarget.checked)}
                  />
                ))}
              </Stack>
            </Popover.Dropdown>
          </Popover>
        )}
        {tools}
        {csv !== undefined && (
          <Button
            variant="default"
            size="xs"
            leftSection={<Download size={14} />}
            disabled={!rows || rows.length === 0}
            onClick={save}
          >
            CSV
          </Button>
        )}
      </Group>
    </div>
  );
}
