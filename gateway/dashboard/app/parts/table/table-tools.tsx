import { Button, Checkbox, Popover, Stack } from "@mantine/core";
import Columns3 from "lucide-react/icons/columns-3";
import Download from "lucide-react/icons/download";
import type { Column } from "./column.ts";
import type { Visibility } from "./column-choice.ts";
import { saveCsv } from "./csv.ts";

/** Which columns of a table are shown. */
export function ColumnMenu<Row>({
  columns,
  visibility,
  onChoose,
}: {
  readonly columns: readonly Column<Row>[];
  readonly visibility: Visibility;
  onChoose(id: string, isShown: boolean): void;
}) {
  const named = columns.filter(({ name }) => name !== "");
  return (
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
  );
}

/** Saves the rows of a table as a file. */
export function CsvButton<Row>({
  columns,
  rows,
  file,
}: {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | undefined;
  readonly file: string;
}) {
  const save = () => {
    const texts = columns.flatMap(({ name, text }) => (text ? [{ name, text }] : []));
    saveCsv(file, texts, rows ?? []);
  };
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<Download size={14} />}
      disabled={!rows || rows.length === 0}
      onClick={save}
    >
      CSV
    </Button>
  );
}
