import { useSubscription } from "urql";
import { useIsConnected } from "./graph.ts";
import type { JobProgressSubscription } from "./graphql/graphql.ts";
import { graphql } from "./graphql/index.ts";

const PROGRESS = graphql(`
  subscription JobProgress($id: ID!, $after: Cursor) {
    imageJobProgress(id: $id, after: $after) {
      cursor sequence at step status providerAddress errorMessage
      job { images { b64Json } }
    }
  }
`);

type Event = JobProgressSubscription["imageJobProgress"];

const ENDS: readonly string[] = ["COMPLETED", "FAILED", "CANCELLED"];

/** A job as it goes: how it stands, every step it took, and its picture. */
export function Job({ id }: { id: string }) {
  const isConnected = useIsConnected();
  const [{ data: steps = [], error }] = useSubscription({ query: PROGRESS, variables: { id } }, append);
  const newest = steps.at(-1);
  const status = newest?.status ?? "PENDING";
  return (
    <section aria-label="Job">
      <p role="status" className={status.toLowerCase()}>
        {isConnected || ENDS.includes(status) ? status.toLowerCase() : "connecting"}
      </p>
      <ol>
        {steps.map(({ sequence, at, step, providerAddress, errorMessage }) => (
          <li key={sequence} value={sequence}>
            <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time>{" "}
            {step.toLowerCase().replaceAll("_", " ")}{" "}
            {providerAddress && <code>{providerAddress.slice(0, 8)}…</code>} {errorMessage}
          </li>
        ))}
      </ol>
      {newest?.job?.images?.map(({ b64Json }) => (
        <img key={b64Json} src={`data:image/png;base64,${b64Json}`} alt="What was asked for" />
      ))}
      {error && <p role="alert">{error.message}</p>}
    </section>
  );
}

/** Events come at least once and in order: one that is known is left out. */
function append(steps: readonly Event[] = [], { imageJobProgress: event }: JobProgressSubscription) {
  return event.sequence > (steps.at(-1)?.sequence ?? 0) ? [...steps, event] : steps;
}
