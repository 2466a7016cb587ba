import type { ResultOf } from "gql.tada";
import { useEffect, useState } from "react";
import { useMutation, useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { graphql, resultOf } from "../graph.ts";
import { Link } from "../router.tsx";
import { ActionButton } from "../ui/controls.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Card, Figure, Hash, Live, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";

const JOBS = graphql(`
  query Jobs($after: Cursor) {
    imageJobs(first: 20, after: $after) {
      nodes { jobId createdAt updatedAt status fraction attempt modelId providerAddress errorMessage }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
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
const ALL_PROGRESS = graphql(`
  subscription JobsProgress($after: Cursor) {
    imageJobChanged(after: $after) { cursor jobId sequence status providerAddress attempt fraction errorMessage }
  }
`);
const CANCEL = graphql(`
  mutation CancelJob($input: CancelImageJobInput!) {
    cancelImageJob(input: $input) { imageJob { id status } userErrors { message } }
  }
`);

type Progress = ResultOf<typeof ALL_PROGRESS>["imageJobChanged"];
type Step = ResultOf<typeof PROGRESS>["imageJobProgress"];

/** All image jobs, live, or one of them with its steps and images. */
export function JobsPage({ id }: { id: string | undefined }) {
  return id ? <OneJob key={id} id={id} /> : <AllJobs />;
}

function AllJobs() {
  const pages = usePages();
  const [{ data, error, fetching }, refetch] = useQuery({ query: JOBS, variables: { after: pages.after } });
  const [updates, setUpdates] = useState<ReadonlyMap<string, Progress>>(new Map());
  const jobs = data?.imageJobs;
  const liveness = useLive(
    ALL_PROGRESS,
    {},
    {
      onEvent({ imageJobChanged: step }) {
        setUpdates((known) => new Map(known).set(step.jobId, step));
        if (!jobs?.nodes.some(({ jobId }) => jobId === step.jobId))
          refetch({ requestPolicy: "network-only" });
      },
    },
  );
  return (
    <Page
      title="Jobs"
      about="Images generated in the background. A job is charged once, when it completes."
      actions={<Live liveness={liveness} />}
    >
      <Outcome
        rows={jobs?.nodes}
        error={error}
        fetching={fetching}
        empty={
          <>
            No jobs yet. Start one in the <Link to="/playground">playground</Link>.
          </>
        }
      >
        {(rows) => (
          <Table label="Jobs" heads={["Made", "Model", "State", "Progress", "Provider", "Try"]}>
            {rows.map((job) => {
              const now = { ...job, ...updates.get(job.jobId) };
              return (
                <tr key={job.jobId}>
                  <td>
                    <Link to={`/jobs/${job.jobId}`}>
                      <Time at={job.createdAt} />
                    </Link>
                  </td>
                  <td>{job.modelId}</td>
                  <td>
                    <Badge state={now.status} /> {now.errorMessage}
                  </td>
                  <td>
                    <Fraction status={now.status} fraction={now.fraction} />
                  </td>
                  <td>
                    {(now.providerAddress ?? job.providerAddress) && (
                      <Hash of={now.providerAddress ?? job.providerAddress ?? ""} />
                    )}
                  </td>
                  <td className="number">{now.attempt}</td>
                </tr>
              );
            })}
          </Table>
        )}
      </Outcome>
      {pages.pager(jobs?.pageInfo)}
    </Page>
  );
}

function OneJob({ id }: { id: string }) {
  return (
    <Page title="Job" about={id}>
      <JobView id={id} />
    </Page>
  );
}

/** The steps of a job received before a reload. They are stored in the history entry, and dropped with it. */
function storedSteps(id: string): readonly Step[] {
  const { job } = (history.state ?? {}) as { job?: { id: string; steps: readonly Step[] } };
  return job?.id === id ? job.steps : [];
}

/** One job, live: its progress, each step, and finally its images. */
export function JobView({ id }: { id: string }) {
  const [{ data, error, fetching }, refetch] = useQuery({ query: JOB, variables: { id } });
  const [stored] = useState(() => storedSteps(id));
  const [steps, setSteps] = useState(stored);
  useEffect(() => {
    if (steps.length > 0) history.replaceState({ ...history.state, job: { id, steps } }, "");
  }, [id, steps]);
  const [, cancel] = useMutation(CANCEL);
  const last = steps.at(-1);
  const liveness = useLive(
    last && isFinal(last.status) ? null : PROGRESS,
    { id },
    {
      after: stored.at(-1)?.cursor ?? null,
      onEvent({ imageJobProgress: step }) {
        setSteps((known) => (known.some((other) => other.id === step.id) ? known : [...known, step]));
        if (isFinal(step.status)) refetch({ requestPolicy: "network-only" });
      },
    },
  );
  return (
    <Outcome
      rows={data ? (data.imageJob ? [data.imageJob] : []) : undefined}
      error={error}
      fetching={fetching}
      empty="Job not found."
    >
      {([job]) => {
        if (!job) return null;
        const status = isFinal(job.status) ? job.status : (last?.status ?? job.status);
        return (
          <>
            <dl className="figures">
              <Figure label="State">
                <Badge state={status} />
              </Figure>
              <Figure label="Progress">
                <Fraction status={status} fraction={last?.fraction ?? job.fraction} />
              </Figure>
              <Figure label="Cost">
                {job.request?.cost ? (
                  <Money neuron={job.request.cost.total} places={9} />
                ) : (
                  "when it completes"
                )}
              </Figure>
              <Figure label="Model">{job.modelId}</Figure>
            </dl>
            {job.errorMessage && <p className="failure">{job.errorMessage}</p>}
            {status === "PENDING" && (
              <ActionButton
                kind="danger"
                act={async () => {
                  const done = await cancel({ input: { id } });
                  resultOf(done.data?.cancelImageJob, done.error);
                  refetch({ requestPolicy: "network-only" });
                }}
              >
                Cancel
              </ActionButton>
            )}
            {job.images && (
              <div className="pictures">
                {job.images.map((image, n) => (
                  <figure key={image.b64Json.slice(0, 64) + String(n)}>
                    <img
                      src={`data:image/png;base64,${image.b64Json}`}
                      alt={image.revisedPrompt ?? `Image ${n + 1}`}
                    />
                    {image.revisedPrompt && <figcaption>{image.revisedPrompt}</figcaption>}
                  </figure>
                ))}
              </div>
            )}
            <Card title="Steps" aside={isFinal(status) ? undefined : <Live liveness={liveness} />}>
              <ol className="timeline">
                {steps.map((step) => (
                  <li key={step.id}>
                    <Time at={step.at} /> <strong>{step.step.toLowerCase().replaceAll("_", " ")}</strong>
                    {step.providerAddress && (
                      <>
                        {" at "}
                        <Hash of={step.providerAddress} />
                        {step.attempt > 1 && `, attempt ${step.attempt}`}
                      </>
                    )}
                    {step.fraction !== null && `, ${Math.round(step.fraction * 100)} %`}
                    {step.errorMessage && `: ${step.errorMessage}`}
                  </li>
                ))}
              </ol>
            </Card>
          </>
        );
      }}
    </Outcome>
  );
}

function Fraction({ status, fraction }: { status: string; fraction: number | null }) {
  if (status === "COMPLETED") return <progress value={1} max={1} aria-label="Progress" />;
  if (isFinal(status)) return <span className="quiet">ended</span>;
  return fraction === null ? (
    <progress aria-label="Progress" />
  ) : (
    <progress value={fraction} max={1} aria-label="Progress" />
  );
}

function isFinal(status: string): boolean {
  return status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";
}
