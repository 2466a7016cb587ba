import { Section } from "../../parts/page/page.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { Pill } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import type { ServiceProcess } from "./operations-query.ts";

/** From this delay on, people notice it. */
const LATE_MS = 100;

const COLUMNS: readonly Column<ServiceProcess>[] = [
  {
    id: "process",
    name: "Process",
    cell: ({ role, processId }) => (
      <span className="stacked">
        <strong>{role}</strong>
        <Hash of={processId} />
      </span>
    ),
  },
  {
    id: "host",
    name: "Machine",
    cell: ({ host, version, nodeVersion }) => (
      <span className="stacked">
        <span>{host}</span>
        <span className="quiet">
          {version}, Node {nodeVersion.replace("v", "")}
        </span>
      </span>
    ),
  },
  {
    id: "state",
    name: "State",
    cell: ({ silent, reportedAt }) =>
      silent ? (
        <Pill tone="bad">
          silent since <Time at={reportedAt} />
        </Pill>
      ) : (
        <Pill tone="good">reporting</Pill>
      ),
  },
  { id: "started", name: "Started", cell: ({ startedAt }) => <Time at={startedAt} /> },
  {
    id: "delay",
    name: "Event loop, p50 / p99",
    isNumber: true,
    cell: ({ eventLoopDelayP50Ms: p50, eventLoopDelayP99Ms: p99 }) => (
      <>
        {tenths(p50)} / <span className={p99 >= LATE_MS ? "late" : undefined}>{tenths(p99)} ms</span>
      </>
    ),
  },
  { id: "memory", name: "Memory", isNumber: true, cell: ({ residentBytes }) => mebibytes(residentBytes) },
  {
    id: "subscriptions",
    name: "Subscriptions / streams",
    isNumber: true,
    cell: ({ subscriptionCount, eventStreamCount }) =>
      `${subscriptionCount.toLocaleString("en")} / ${eventStreamCount.toLocaleString("en")}`,
  },
];

/** Every process of the deployment. */
export function Processes({ processes }: { processes: readonly ServiceProcess[] }) {
  return (
    <Section
      title="Processes"
      about="Each reports every 5 s. The event loop is measured between two reports."
      isFlush
    >
      <DataTable
        label="Processes"
        columns={COLUMNS}
        rows={processes}
        keyOf={({ processId }) => processId}
        empty="No process reports."
      />
    </Section>
  );
}

function tenths(ms: number): string {
  return ms >= 10 ? Math.round(ms).toString() : ms.toFixed(1);
}

function mebibytes(bytes: string): string {
  return `${Math.round(Number(bytes) / 1_048_576).toLocaleString("en")} MiB`;
}
