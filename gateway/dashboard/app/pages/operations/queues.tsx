import { secondsText } from "../../data/durations.ts";
import { Columns, Pair, Pairs, Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import type { Operations } from "./operations-query.ts";

type Jobs = Operations["queues"]["jobs"][number];
type Watcher = Operations["watchers"][number];

const JOBS: readonly Column<Jobs>[] = [
  { id: "kind", name: "Jobs", cell: ({ kind }) => inWords(kind) },
  { id: "waiting", name: "Waiting", isNumber: true, cell: ({ waitingCount }) => count(waitingCount) },
  { id: "running", name: "Running", isNumber: true, cell: ({ runningCount }) => count(runningCount) },
  {
    id: "oldest",
    name: "Oldest waits",
    isNumber: true,
    cell: ({ waitingCount, oldestWaitingSeconds }) =>
      waitingCount === 0 ? "–" : secondsText(oldestWaitingSeconds),
  },
];

const WATCHERS: readonly Column<Watcher>[] = [
  { id: "watcher", name: "Watcher", cell: ({ name }) => <WatcherName name={name} /> },
  { id: "state", name: "State", cell: ({ phase }) => <StateBadge state={phase} /> },
  { id: "scanned", name: "Block", isNumber: true, cell: ({ scannedBlock }) => scannedBlock ?? "–" },
  { id: "head", name: "Head", isNumber: true, cell: ({ headBlock }) => headBlock ?? "–" },
  { id: "behind", name: "Behind", isNumber: true, cell: ({ lagBlocks }) => lagBlocks ?? "–" },
  { id: "note", name: "Why it halted", cell: ({ note }) => note ?? "–" },
];

/** What waits: jobs by kind, and events on their way to subscribers and webhooks. */
export function Queues({ queues }: { queues: Operations["queues"] }) {
  return (
    <Columns>
      <Section title="Jobs" isFlush>
        <DataTable
          label="Jobs"
          columns={JOBS}
          rows={queues.jobs}
          keyOf={({ kind }) => kind}
          empty={<EmptyState title="No job waits or runs." />}
        />
      </Section>
      <Section title="Events">
        <Pairs>
          <Pair name="Unpublished">{count(queues.unpublishedEventCount)}</Pair>
          <Pair name="Oldest unpublished">
            {queues.unpublishedEventCount === 0 ? "–" : secondsText(queues.oldestUnpublishedSeconds)}
          </Pair>
          <Pair name="Newest position">{Number(queues.newestEventPosition).toLocaleString("en")}</Pair>
          <Pair name="Not matched with webhooks yet">{count(Number(queues.unmatchedEventCount))}</Pair>
        </Pairs>
      </Section>
    </Columns>
  );
}

/** The name of a watcher; of one of a contract, its address is short. */
function WatcherName({ name }: { name: string }) {
  const [kind, contract] = name.split(":");
  if (!contract) return kind;
  return (
    <>
      {kind} <Hash of={contract} />
    </>
  );
}

/** How far each watcher has read the chain. */
export function Watchers({ watchers }: { watchers: readonly Watcher[] }) {
  return (
    <Section title="Chain watchers" isFlush>
      <DataTable
        label="Watchers"
        columns={WATCHERS}
        rows={watchers}
        keyOf={({ name }) => name}
        empty="Nothing of this network is scanned."
      />
    </Section>
  );
}

/** Numbers are counted to 10,000. */
function count(value: number): string {
  return value >= 10_000 ? "10,000 or more" : value.toLocaleString("en");
}
