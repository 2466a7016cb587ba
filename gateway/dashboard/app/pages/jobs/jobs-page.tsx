import { Link } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useMemo, useState } from "react";
import { milliseconds } from "../../data/durations.ts";
import { useList } from "../../data/list/use-list.ts";
import { graphql } from "../../data/query/graph.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { useRefresh } from "../../data/query/use-refresh.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { Live, StateBadge } from "../../parts/value/state-badge.tsx";
import { Fraction, isFinal } from "./fraction.tsx";

const JOBS = graphql(`
  query Jobs($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    imageJobs(first: $first, last: $last, after: $after, before: $before) {
      nodes {
        jobId createdAt finishedAt status fraction attempt modelId providerAddress errorMessage
        request { cost { total } }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);
const ALL_PROGRESS = graphql(`
  subscription JobsProgress($after: Cursor) {
    imageJobChanged(after: $after) { cursor jobId sequence status providerAddress attempt fraction errorMessage }
  }
`);

type Progress = ResultOf<typeof ALL_PROGRESS>["imageJobChanged"];
type Job = NonNullable<ResultOf<typeof JOBS>["imageJobs"]>["nodes"][number];

/** All image jobs, live. */
export function JobsPage() {
  const list = useList({ query: JOBS, pick: ({ imageJobs }) => imageJobs });
  const refresh = useRefresh(list.refetch);
  const [updates, setUpdates] = useState<ReadonlyMap<string, Progress>>(new Map());
  const liveness = useFollowed(
    ALL_PROGRESS,
    {},
    {
      onEvent({ imageJobChanged: step }) {
        const isKnown = list.rows?.some(({ jobId }) => jobId === step.jobId);
        // Only of rows that are shown: those of others come with their state.
        if (isKnown)
          setUpdates((known) =>
            step.sequence > (known.get(step.jobId)?.sequence ?? 0)
              ? new Map(known).set(step.jobId, step)
              : known,
          );
        // One that is new, or that has its end and its cost now.
        if (!isKnown || isFinal(step.status)) refresh();
      },
      onGap() {
        // What was received before the gap is older than what the list has then.
        setUpdates(new Map());
        refresh();
      },
    },
  );
  const { symbol } = useNetwork();
  const columns = useMemo(() => columnsOf(symbol), [symbol]);
  const rows = list.rows?.map((job) => withUpdate(job, updates.get(job.jobId)));
  return (
    <Page
      title="Jobs"
      about="Images generated in the background. A job is charged once, when it completes."
      actions={<Live liveness={liveness} />}
    >
      <ListTable
        label="Jobs"
        list={{ ...list, rows }}
        columns={columns}
        canChoose
        keyOf={({ jobId }) => jobId}
        link={({ jobId }) => ({ to: "/jobs/$id", params: { id: jobId } })}
        empty={
          <EmptyState title="No jobs yet.">
            <p>
              Start one in the <Link to="/playground">playground</Link>.
            </p>
          </EmptyState>
        }
      />
    </Page>
  );
}

function withUpdate(job: Job, step: Progress | undefined): Job {
  // Of a job that has ended the list has the last word.
  if (!step || isFinal(job.status)) return job;
  const { status, fraction, attempt, errorMessage } = step;
  return {
    ...job,
    status,
    fraction,
    attempt,
    errorMessage,
    providerAddress: step.providerAddress ?? job.providerAddress,
  };
}

const columnsOf = (symbol: string): readonly Column<Job>[] => [
  { id: "created", name: "Created", cell: ({ createdAt }) => <ClockTime at={createdAt} /> },
  { id: "id", name: "ID", cell: ({ jobId }) => <Hash of={jobId} withCopy /> },
  { id: "model", name: "Model", cell: ({ modelId }) => <span className="user-text">{modelId}</span> },
  {
    id: "state",
    name: "State",
    cell: ({ status, errorMessage }) => (
      <>
        <StateBadge state={status} /> {errorMessage}
      </>
    ),
  },
  {
    id: "progress",
    name: "Progress",
    cell: (job) => <Fraction status={job.status} fraction={job.fraction} />,
  },
  {
    id: "provider",
    name: "Provider",
    isHidden: true,
    cell: ({ providerAddress }) => providerAddress && <Hash of={providerAddress} />,
  },
  { id: "attempts", name: "Attempts", isNumber: true, cell: ({ attempt }) => attempt },
  {
    id: "duration",
    name: "Total time",
    isNumber: true,
    cell: ({ createdAt, finishedAt }) =>
      finishedAt ? milliseconds(Date.parse(finishedAt) - Date.parse(createdAt)) : "–",
  },
  {
    id: "cost",
    name: `Cost, ${symbol}`,
    isNumber: true,
    cell: ({ request }) => (request?.cost ? <Amount neuron={request.cost.total} isCell /> : "–"),
  },
];
