import { Button } from "@mantine/core";
import Download from "lucide-react/icons/download";
import { useRef, useState } from "react";
import { saveFile } from "../../data/save-file.ts";
import { toastSuccess } from "../../data/toast.ts";
import { useAction } from "../../data/use-action.ts";
import { type CsvColumn, toCsv } from "./csv.ts";

/** The most rows of a file. */
const MAX_CSV_ROWS = 20_000;

type Page<Row> = { readonly rows: readonly Row[]; readonly next: string | undefined };

/**
 * Saves the rows of a whole list as CSV: it is read page by page, so that the browser holds one page of rows and the text
 * of the file. Pressing the button again ends it early, without a file.
 */
export function CsvExport<Row>({
  file,
  columns,
  read,
  disabled = false,
}: {
  file: string;
  columns: readonly CsvColumn<Row>[];
  read(after: string | undefined, signal: AbortSignal): Promise<Page<Row>>;
  disabled?: boolean;
}) {
  const [count, setCount] = useState<number>();
  const running = useRef<AbortController>(undefined);
  const { run } = useAction(async () => {
    const stopped = new AbortController();
    running.current = stopped;
    try {
      const parts = [toCsv(columns, [])];
      let [done, after] = [0, undefined as string | undefined];
      do {
        setCount(done);
        const { rows, next } = await read(after, stopped.signal);
        if (stopped.signal.aborted) return;
        parts.push(toCsv(columns, rows, { withHead: false }));
        done += rows.length;
        after = next;
      } while (after !== undefined && done < MAX_CSV_ROWS);
      saveFile(file, new Blob(parts, { type: "text/csv" }));
      toastSuccess(
        after === undefined
          ? `${file} has ${done.toLocaleString("en")} rows.`
          : `${file} has the first ${done.toLocaleString("en")} rows: filter the list for the others.`,
      );
    } finally {
      running.current = undefined;
      setCount(undefined);
    }
  });
  const isRunning = count !== undefined;
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<Download size={14} />}
      disabled={disabled && !isRunning}
      onClick={() => (isRunning ? running.current?.abort() : void run())}
    >
      {isRunning ? `${count.toLocaleString("en")} rows… Stop` : "CSV"}
    </Button>
  );
}
