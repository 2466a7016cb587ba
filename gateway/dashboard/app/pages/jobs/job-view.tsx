import type { ResultOf } from "gql.tada";
import { useEffect, useRef, useState } from "react";
import { useMutation, useQuery } from "urql";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { Section, Stat, Stats } from "../../parts/page/page.tsx";
import { EmptyState, Failure, Outcome } from "../../parts/page/states.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { ClockTime, FullTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, Live, StateBadge } from "../../parts/value/state-badge.tsx";
import { Fraction, isFinal } from "./fraction.tsx";

const JOB = graphql(`
  query Job($id: ID!) {
    imageJob(id: $id) {
      id createdAt finishedAt resultExpiresAt status fraction attempt modelId providerAddress errorCode errorMessage
      request { requestId cost { total } }
      images { b64Json revisedPrompt }
    }
  }
`);
const PROGRESS = graphql(`
  subscription JobProgress($id: ID!, $after: Cursor) {
    imageJobProgress(id: $id, after: $after) {
      cursor id at sequence step status providerAddress attempt fraction errorMessage
    }
  }
`);
const CANCEL = graphql(`
  mutation CancelJob($input: CancelImageJobInput!) {
    cancelImageJob(input: $input) { imageJob { id status } userErrors { field message } }
  }
`);

type Step = ResultOf<typeof PROGRESS>["imageJobProgress"];
type Job = NonNullable<ResultOf<typeof JOB>["imageJob"]>;

/** The steps of a job received before a reload. They are stored in the history entry, and dropped with it. */
function storedSteps(id: string): readonly Step[] {
  const { job } = (history.state ?? {}) as { job?: { id: string; steps: readonly Step[] } };
  return job?.id === id ? job.steps : [];
}

/** Browsers refuse more changes of the history than some: Safari more than 100 in 30 seconds, the router's included. */
const STORE_MS = 1_000;

/**
 * Stores the steps in the history entry: at once, then at most every second. Those that are not stored yet when the page
 * is left arrive again, since the subscription then continues after the last stored one.
 */
function useStoredSteps(id: string, steps: readonly Step[]): void {
  const storedAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (steps.length === 0) return;
    const store = () => {
      storedAt.current = performance.now();
      storeSteps(id, steps);
    };
    const timer = setTimeout(store, Math.max(0, storedAt.current + STORE_MS - performance.now()));
    return () => clearTimeout(timer);
  }, [id, steps]);
}

/** Unlike `history.replaceState`, which the router observes, it does not load the page again. */
function storeSteps(id: string, steps: readonly Step[]): void {
  History.prototype.replaceState.call(history, { ...history.state, job: { id, steps } }, "");
}

/**
 * One job, live: its progress, each step, and finally its images. `since` is a cursor from before the job: with it, every
 * step is shown that the gateway still has, otherwise those from now on.
 */
export function JobView({ id, since }: { id: string; since?: string | undefined }) {
  const [{ data, error, fetching }, query] = useQuery({ query: JOB, variables: { id } });
  const refetch = () => query({ requestPolicy: "network-only" });
  const [stored] = useState(() => storedSteps(id));
  const [steps, setSteps] = useState(stored);
  useStoredSteps(id, steps);
  // What was received before a gap is older than what is queried after it.
  const [hasGap, setGap] = useState(false);
  const last = hasGap ? undefined : steps.at(-1);
  const liveness = useFollowed(
    last && isFinal(last.status) ? null : PROGRESS,
    { id },
    {
      after: stored.at(-1)?.cursor ?? since ?? null,
      onEvent({ imageJobProgress: step }) {
        setGap(false);
        setSteps((known) => (known.some((other) => other.id === step.id) ? known : [...known, step]));
        if (isFinal(step.status)) refetch();
      },
      onGap() {
        setGap(true);
        refetch();
      },
    },
  );
  return (
    <Outcome
      value={data && (data.imageJob ?? null)}
      error={error}
      fetching={fetching}
      onRetry={refetch}
      empty={<EmptyState title="Job not found." />}
    >
      {(job) => {
        const status = isFinal(job.status) ? job.status : (last?.status ?? job.status);
        return (
          <>
            <Figures job={job} status={status} fraction={last?.fraction ?? job.fraction} />
            {job.errorMessage && <Failure reason={job.errorMessage} />}
            {status === "PENDING" && <Cancel id={id} onDone={refetch} />}
            {job.images && <Images of={job.images} />}
            <Section title="Steps" actions={!isFinal(status) && <Live liveness={liveness} />}>
              <Steps of={steps} />
            </Section>
          </>
        );
      }}
    </Outcome>
  );
}

function Figures({ job, status, fraction }: { job: Job; status: string; fraction: number | null }) {
  return (
    <Stats>
      <Stat
        label="State"
        hint={
          <>
            created <FullTime at={job.createdAt} />
          </>
        }
      >
        <StateBadge state={status} />
      </Stat>
      <Stat label="Progress">
        <Fraction status={status} fraction={fraction} />
      </Stat>
      <Stat label="Cost">
        {job.request?.cost ? <Amount neuron={job.request.cost.total} withUsd /> : "when it completes"}
      </Stat>
      <Stat label="Model">{job.modelId}</Stat>
    </Stats>
  );
}

function Cancel({ id, onDone }: { id: string; onDone(): void }) {
  const [, cancel] = useMutation(CANCEL);
  return (
    <div>
      <ActionButton
        color="red"
        variant="light"
        done="The job is cancelled."
        act={async () => {
          const done = await cancel({ input: { id } });
          resultOf(done.data?.cancelImageJob, done.error);
          onDone();
        }}
      >
        Cancel
      </ActionButton>
    </div>
  );
}

function Images({ of }: { of: NonNullable<Job["images"]> }) {
  return (
    <div className="pictures">
      {of.map((image, n) => (
        <figure key={image.b64Json.slice(0, 64) + String(n)}>
          <img src={`data:image/png;base64,${image.b64Json}`} alt={image.revisedPrompt ?? `Image ${n + 1}`} />
          {image.revisedPrompt && <figcaption>{image.revisedPrompt}</figcaption>}
        </figure>
      ))}
    </div>
  );
}

function Steps({ of }: { of: readonly Step[] }) {
  return (
    <ol className="timeline" aria-label="Steps">
      {of.map((step) => (
        <li key={step.id}>
          <strong>{inWords(step.step)}</strong>
          {step.providerAddress && (
            <>
              {" by "}
              <Hash of={step.providerAddress} />
              {step.attempt > 1 && `, attempt ${step.attempt}`}
            </>
          )}
          {step.fraction !== null && !isFinal(step.status) && `, ${Math.round(step.fraction * 100)}%`}
          {step.errorMessage && `: ${step.errorMessage}`}
          <span className="quiet">
            {" · "}
            <ClockTime at={step.at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
