import { Button, Group } from "@mantine/core";
import { type LinkProps, useNavigate } from "@tanstack/react-router";
import { columnVisibilityFeature, tableFeatures, useTable } from "@tanstack/react-table";
import {
  lazy,
  type ReactNode,
  Suspense,
  type UIEvent,
  useCallback,
  useContext,
  useMemo,
  useRef,
} from "react";
import type { CombinedError } from "urql";
import { loadAgain } from "../../data/query/fetch-again.ts";
import { isRefusal, reasonOf } from "../../data/query/graph.ts";
import { usePrinting } from "../../data/use-printing.ts";
import { SectionTitle } from "../page/page.tsx";
import { EmptyState, Failure, Loading, NoPermission } from "../page/states.tsx";
import { placesOf } from "./card-places.ts";
import type { Column } from "./column.ts";
import { useColumnChoice } from "./column-choice.ts";
import { ColumnHead } from "./column-head.tsx";
import { DataRow } from "./data-row.tsx";
import { ROLE } from "./table-roles.ts";

const features = tableFeatures({ columnVisibilityFeature });
/** From so many rows on, only those in view are in the document, and the table scrolls by itself. */
const VIRTUAL_FROM = 60;
/** From so many rows on, the table scrolls by itself on a wide screen, under a head that stays. */
const LONG_FROM = 30;
/** A reader who scrolled less is at the top. */
const TOP_PX = 30;

const ColumnMenu = lazy(async () => ({
  default: await loadAgain(async () => (await import("./table-tools.tsx")).ColumnMenu),
})) as typeof import("./table-tools.tsx").ColumnMenu;
const CsvButton = lazy(async () => ({
  default: await loadAgain(async () => (await import("./table-tools.tsx")).CsvButton),
})) as typeof import("./table-tools.tsx").CsvButton;
const VirtualBody = lazy(async () => ({
  default: await loadAgain(async () => (await import("./virtual-body.tsx")).VirtualBody),
}));

type Props<Row> = {
  /** What the table lists, for screen readers; the choice of columns is kept under it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined while they are loaded. */
  readonly rows: readonly Row[] | undefined;
  keyOf(row: Row): string;
  readonly error?: CombinedError | undefined;
  readonly onRetry?: () => void;
  /** In place of no rows; a text, or an `EmptyState` with what to do about it. */
  readonly empty: ReactNode;
  /** The page of a row: a click on the row opens it, and its first cell is the link. */
  link?(row: Row): LinkProps | undefined;
  /** The order, as in the search parameter `sort`: `-COST` is descending by cost. */
  readonly sort?: string | undefined;
  onSort?(sort: string): void;
  /** Whether the user may choose columns, and save the rows as this file. */
  readonly canChoose?: boolean;
  readonly csv?: string;
  /** Before the tools of the table: filters. */
  readonly filters?: ReactNode;
  /** After them, beside the choice of columns. */
  readonly tools?: ReactNode;
  /** Called when the end of a long list is near, to read on. */
  onEnd?(): void;
  /** Called when a long list is scrolled away from its top, and back. */
  onTop?(isAtTop: boolean): void;
};

/**
 * A table of rows that the server sorts and pages. It has the states of a list: loading, empty, failed with a button to
 * try again, and refused. It scrolls horizontally within itself; on a narrow screen each row is a card. The arrow keys
 * move between the links of its rows.
 */
export function DataTable<Row extends object>(props: Props<Row>) {
  const { columns, rows, label, filters, tools, canChoose = false, csv } = props;
  const [visibility, choose] = useColumnChoice(label, columns);
  const hasTools = filters !== undefined || canChoose || csv !== undefined;
  return (
    <div className="data">
      {hasTools && (
        <div className="table-tools">
          <Group gap="xs">{filters}</Group>
          <Group gap="xs">
            {canChoose && (
              <Suspense fallback={<Twin name="Columns" />}>
                <ColumnMenu columns={columns} visibility={visibility} onChoose={choose} />
              </Suspense>
            )}
            {tools}
            {csv !== undefined && (
              <Suspense fallback={<Twin name="CSV" />}>
                <CsvButton columns={columns} rows={rows} file={csv} />
              </Suspense>
            )}
          </Group>
        </div>
      )}
      <TableState {...props} visibility={visibility} />
    </div>
  );
}

function TableState<Row extends object>(
  props: Props<Row> & { readonly visibility: Readonly<Record<string, boolean>> },
) {
  const { rows, error, onRetry, empty } = props;
  if (rows && rows.length > 0) return <Rows {...props} rows={rows} />;
  if (error && isRefusal(error)) return <NoPermission reason={reasonOf(error)} />;
  if (error && !rows) return <Failure reason={reasonOf(error)} {...(onRetry && { onRetry })} />;
  if (!rows) return <Loading rows={6} />;
  return typeof empty === "string" ? <EmptyState title={empty} /> : empty;
}

function Rows<Row extends object>(
  props: Props<Row> & {
    readonly rows: readonly Row[];
    readonly visibility: Readonly<Record<string, boolean>>;
  },
) {
  const { columns, rows, keyOf, label, link, sort, onSort, visibility, onEnd, onTop } = props;
  const navigate = useNavigate();
  // Two regions of one name cannot be distinguished in a list of landmarks.
  const isNamedAlready = useContext(SectionTitle) === label;
  const definitions = useMemo(
    () => columns.map(({ id }) => ({ id, accessorFn: (row: Row) => row })),
    [columns],
  );
  const data = useMemo(() => [...rows], [rows]);
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: keyOf,
    state: { columnVisibility: visibility },
  });
  const shown = table.getRowModel().rows;
  const leaves = table.getVisibleLeafColumns();
  const visible = useMemo(() => {
    const byId = new Map(columns.map((column) => [column.id, column]));
    return leaves.flatMap(({ id }) => byId.get(id) ?? []);
  }, [columns, leaves]);
  const places = useMemo(() => placesOf(visible), [visible]);
  const open = useCallback((to: LinkProps) => void navigate(to as never), [navigate]);
  const rowAt = (n: number, measure?: (element: HTMLTableRowElement | null) => void) => {
    const row = shown[n];
    if (!row) return null;
    return (
      <DataRow
        key={row.id}
        index={n}
        row={row.original}
        columns={visible}
        places={places}
        linkOf={link}
        onOpen={open}
        {...(measure && { measure })}
      />
    );
  };
  // Paper has every row that is loaded.
  const isPrinting = usePrinting();
  const isVirtual = !isPrinting && shown.length >= VIRTUAL_FROM;
  const wasAtTop = useRef(true);
  const onScroll = ({ currentTarget }: UIEvent) => {
    const isAtTop = currentTarget.scrollTop < TOP_PX;
    if (isAtTop !== wasAtTop.current) onTop?.(isAtTop);
    wasAtTop.current = isAtTop;
  };
  return (
    <section
      className={isVirtual ? "scroll tall" : shown.length >= LONG_FROM ? "scroll long" : "scroll"}
      aria-label={isNamedAlready ? `${label}: table` : label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
      tabIndex={0}
      onScroll={onScroll}
    >
      <table role={ROLE.table} {...(isVirtual && { "aria-rowcount": shown.length + 1 })}>
        <thead role={ROLE.rowgroup}>
          <tr role={ROLE.row}>
            {visible.map((column) => (
              <ColumnHead key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        {isVirtual ? (
          <Suspense fallback={<tbody />}>
            <VirtualBody
              count={shown.length}
              keyAt={(n) => shown[n]?.id ?? n}
              rowAt={rowAt}
              {...(onEnd && { onEnd })}
            />
          </Suspense>
        ) : (
          <tbody role={ROLE.rowgroup}>{shown.map((_, n) => rowAt(n))}</tbody>
        )}
      </table>
    </section>
  );
}

/** The size of a button of the tools, which keeps its place while they are loaded: filters would wrap anew. */
function Twin({ name }: { name: string }) {
  return (
    <Button className="tool-place" variant="default" size="xs" leftSection={<span className="icon-place" />}>
      {name}
    </Button>
  );
}
