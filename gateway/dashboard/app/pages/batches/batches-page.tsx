import { Button, Tabs } from "@mantine/core";
import Plus from "lucide-react/icons/plus";
import { useState } from "react";
import { toPlainTokens } from "../../data/amounts.ts";
import { useFilters, useList } from "../../data/list/use-list.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { useRefresh } from "../../data/query/use-refresh.ts";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { Live, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { BatchProgress } from "./batch-progress.tsx";
import {
  BATCHES,
  BATCHES_CHANGED,
  type BatchCounts,
  type BatchRow,
  hasEnded,
  nameOf,
} from "./batch-queries.ts";
import { CreateBatch } from "./create-batch.tsx";
import { Files } from "./files.tsx";
import "./batches.css";

/** The batches of the account, live, and their files. */
export function BatchesPage() {
  const [{ tab }, filter] = useFilters<{ tab?: "files" | undefined }>();
  const [isCreating, setCreating] = useState(false);
  return (
    <Page
      title="Batches"
      about="Many requests in one file. Results within 24 hours; you pay only for requests that are answered."
      actions={
        <Button leftSection={<Plus size={16} />} onClick={() => setCreating(true)}>
          Create a batch
        </Button>
      }
    >
      <Tabs
        value={tab ?? "batches"}
        onChange={(next) => filter({ tab: next === "files" ? "files" : undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="batches">Batches</Tabs.Tab>
          <Tabs.Tab value="files">Files</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="batches">
          <BatchList />
        </Tabs.Panel>
        <Tabs.Panel value="files">
          <Files />
        </Tabs.Panel>
      </Tabs>
      {isCreating && <CreateBatch onClose={() => setCreating(false)} />}
    </Page>
  );
}

function BatchList() {
  const list = useList({ query: BATCHES, pick: ({ batches }) => batches });
  const refresh = useRefresh(list.refetch);
  const [updates, setUpdates] = useState<ReadonlyMap<string, BatchCounts & { sequence: number }>>(new Map());
  const liveness = useFollowed(
    BATCHES_CHANGED,
    {},
    {
      onEvent({ batchChanged: change }) {
        setUpdates((known) =>
          change.sequence > (known.get(change.batchId)?.sequence ?? 0)
            ? new Map(known).set(change.batchId, change)
            : known,
        );
        // One that is new, or that has its files now.
        const isKnown = list.rows?.some(({ batchId }) => batchId === change.batchId);
        if (!isKnown || hasEnded(change.status)) refresh();
      },
      onGap: refresh,
    },
  );
  const rows = list.rows?.map((batch) => withUpdate(batch, updates.get(batch.batchId)));
  return (
    <ListTable
      label="Batches"
      list={{ ...list, rows }}
      columns={COLUMNS}
      keyOf={({ batchId }) => batchId}
      link={({ batchId }) => ({ to: "/batches/$id", params: { id: batchId } })}
      filters={<Live liveness={liveness} />}
      canChoose
      empty={
        <EmptyState title="No batches yet.">
          <p>Create one from a file of requests (JSONL), here or over the API of OpenAI's clients.</p>
        </EmptyState>
      }
    />
  );
}

function withUpdate(batch: BatchRow, update: BatchCounts | undefined): BatchRow {
  if (!update || hasEnded(batch.status)) return batch;
  const { status, requestCount, completedCount, failedCount, cost } = update;
  return { ...batch, status, requestCount, completedCount, failedCount, cost };
}

const COLUMNS: readonly Column<BatchRow>[] = [
  { id: "name", name: "Batch", cell: (batch) => <span className="batch-name">{nameOf(batch)}</span> },
  { id: "state", name: "State", cell: ({ status }) => <StateBadge state={status} /> },
  {
    id: "progress",
    name: "Progress",
    cell: (batch) => <BatchProgress of={batch} label={nameOf(batch)} />,
  },
  {
    id: "cost",
    name: "Cost",
    isNumber: true,
    cell: ({ cost }) => <Amount neuron={cost} />,
    text: ({ cost }) => toPlainTokens(cost),
  },
  { id: "endpoint", name: "Endpoint", cell: ({ endpoint }) => <code>{endpoint}</code> },
  { id: "created", name: "Created", cell: ({ createdAt }) => <ClockTime at={createdAt} /> },
  {
    id: "until",
    name: "Expires",
    cell: ({ expiresAt, status }) =>
      hasEnded(status) ? <span className="quiet">ended</span> : <Time at={expiresAt} />,
  },
];
