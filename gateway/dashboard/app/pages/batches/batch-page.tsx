import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useMutation, useQuery } from "urql";
import { resultOf } from "../../data/query/graph.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { ConfirmDialog } from "../../parts/form/dialog.tsx";
import { Breadcrumb } from "../../parts/page/breadcrumb.tsx";
import { Columns, Page, Pair, Pairs, Section, Stat, Stats } from "../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { FullTime } from "../../parts/value/clock-time.tsx";
import { Live, StateBadge } from "../../parts/value/state-badge.tsx";
import { BatchProgress } from "./batch-progress.tsx";
import {
  BATCH,
  BATCH_PROGRESS,
  type Batch,
  type BatchCounts,
  CANCEL,
  hasEnded,
  nameOf,
} from "./batch-queries.ts";
import { FileLink } from "./file-link.tsx";
import "./batches.css";

/** One batch, live: its counts, its files, and what is wrong with its input. */
export function BatchPage() {
  const { id } = useParams({ from: "/batches/$id" });
  return <OneBatch key={id} id={id} />;
}

function OneBatch({ id }: { readonly id: string }) {
  const [{ data, error, fetching }, query] = useQuery({ query: BATCH, variables: { id } });
  const refetch = () => query({ requestPolicy: "network-only" });
  const [last, setLast] = useState<BatchCounts>();
  const isOver = last !== undefined && hasEnded(last.status);
  const liveness = useFollowed(
    isOver ? null : BATCH_PROGRESS,
    { id },
    {
      keep: 1,
      onEvent({ batchProgress }) {
        setLast(batchProgress);
        if (hasEnded(batchProgress.status)) refetch();
      },
      onGap() {
        setLast(undefined);
        refetch();
      },
    },
  );
  return (
    <Page
      title="Batch"
      above={<Breadcrumb list="Batches" to="/batches" id={id} />}
      about={data?.batch && nameOf(data.batch) !== id ? nameOf(data.batch) : undefined}
    >
      <Outcome
        value={data && (data.batch ?? null)}
        error={error}
        fetching={fetching}
        onRetry={refetch}
        empty={<EmptyState title="Batch not found." />}
      >
        {(batch) => {
          const counts = hasEnded(batch.status) ? batch : (last ?? batch);
          return (
            <Content
              batch={batch}
              counts={counts}
              live={!hasEnded(counts.status) && <Live liveness={liveness} />}
              onDone={refetch}
            />
          );
        }}
      </Outcome>
    </Page>
  );
}

function Content({
  batch,
  counts,
  live,
  onDone,
}: {
  batch: Batch;
  counts: BatchCounts;
  live: ReactNode;
  onDone(): void;
}) {
  const { status, requestCount, completedCount, failedCount, cost } = counts;
  const waiting = Math.max(0, requestCount - completedCount - failedCount);
  const number = (count: number) => count.toLocaleString("en");
  return (
    <>
      <Stats>
        <Stat label="State">
          <StateBadge state={status} />
        </Stat>
        <Stat label="Answered and charged">{number(completedCount)}</Stat>
        <Stat label="Cost">
          <Amount neuron={cost} withUsd />
        </Stat>
        <Stat label="Failed, not charged">{number(failedCount)}</Stat>
        <Stat label={hasEnded(status) ? "Not sent" : "Waiting"}>{number(waiting)}</Stat>
      </Stats>
      <Section
        title="Progress"
        actions={
          <>
            {live}
            <Cancel batch={batch} status={status} onDone={onDone} />
          </>
        }
      >
        <BatchProgress of={counts} label="Requests" />
        {MEANINGS[status] && <p>{MEANINGS[status]}</p>}
      </Section>
      {batch.errors.length > 0 && <Faults of={batch.errors} />}
      <Columns>
        <Section title="Files">
          <Pairs>
            <Pair name="Requests">
              <FileLink id={batch.inputFileId} name="Download the requests" />
            </Pair>
            <Pair name="Answers">
              <FileLink
                id={batch.outputFileId}
                name="Download the answers"
                none={hasEnded(status) ? "none" : "when the batch has ended"}
              />
            </Pair>
            <Pair name="Failures">
              <FileLink
                id={batch.errorFileId}
                name="Download the failures"
                none={hasEnded(status) ? "none" : "when the batch has ended"}
              />
            </Pair>
          </Pairs>
        </Section>
        <Section title="Details">
          <Pairs>
            <Pair name="Endpoint">
              <code>{batch.endpoint}</code>
            </Pair>
            <Pair name="Created">
              <FullTime at={batch.createdAt} />
            </Pair>
            {!hasEnded(status) && (
              <Pair name="Expires">
                <FullTime at={batch.expiresAt} />
              </Pair>
            )}
            {Object.entries((batch.metadata ?? {}) as Record<string, string>).map(([name, value]) => (
              <Pair key={name} name={name}>
                {value}
              </Pair>
            ))}
          </Pairs>
        </Section>
      </Columns>
    </>
  );
}

/** What a status means, where its word does not say it. */
const MEANINGS: Readonly<Partial<Record<BatchCounts["status"], string>>> = {
  VALIDATING: "The input file is checked, line by line, before anything is sent.",
  IN_PROGRESS: "The requests are being sent. This page follows them.",
  FINALIZING: "The files are being completed.",
  CANCELLING: "No more requests are sent. Those that were sent are being answered, and are charged.",
  FAILED: "Nothing more is sent: the input is not valid, or the key of the batch ended.",
  EXPIRED: "The 24 hours were over before all requests were sent. The others were not charged.",
  CANCELLED: "The batch was cancelled. What had been answered is in its file, and was charged.",
};

function Cancel({ batch, status, onDone }: { batch: Batch; status: string; onDone(): void }) {
  const [isAsking, setAsking] = useState(false);
  const [, cancel] = useMutation(CANCEL);
  if (hasEnded(status) || status === "CANCELLING") return null;
  return (
    <>
      <Button size="xs" color="red" variant="light" onClick={() => setAsking(true)}>
        Cancel the batch
      </Button>
      {isAsking && (
        <ConfirmDialog
          title="Cancel this batch?"
          label="Cancel the batch"
          done="The batch is being cancelled."
          onClose={() => setAsking(false)}
          act={async () => {
            const done = await cancel({ input: { id: batch.id } });
            resultOf(done.data?.cancelBatch, done.error);
            onDone();
          }}
        >
          <p>
            No more requests are sent. Those that were sent are answered and charged, and their answers are in
            the file. The batch cannot be resumed.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

type Fault = Batch["errors"][number];

const FAULTS: readonly Column<Fault>[] = [
  {
    id: "line",
    name: "Line",
    isNumber: true,
    cell: ({ line }) => line ?? "–",
    text: ({ line }) => String(line ?? ""),
  },
  {
    id: "field",
    name: "Field",
    cell: ({ param }) => param && <code>{param}</code>,
    text: ({ param }) => param ?? "",
  },
  {
    id: "message",
    name: "What is wrong",
    cell: ({ message }) => message,
    text: ({ message }) => message,
  },
  { id: "code", name: "Code", cell: ({ code }) => <code>{code}</code>, text: ({ code }) => code },
];

function Faults({ of }: { of: Batch["errors"] }) {
  return (
    <Section title="What is wrong" about="At most 100 errors are listed." isFlush>
      <DataTable
        label="Errors of the input"
        columns={FAULTS}
        rows={of}
        keyOf={({ line, code, param }) => `${line} ${code} ${param}`}
        csv="errors.csv"
        empty="None."
      />
    </Section>
  );
}
