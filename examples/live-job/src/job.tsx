import { useImageJob } from "@zerograph/client/react";

/** A job as it goes: how it stands, every step it took, and its picture. */
export function Job({ id }: { id: string }) {
  const { status = "PENDING", steps, images, state, error, isDone } = useImageJob(id);
  const isConnected = state === "live" || state === "replaying";
  return (
    <section aria-label="Job">
      <p role="status" className={status.toLowerCase()}>
        {isConnected || isDone ? status.toLowerCase() : "connecting"}
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
      {images.map(({ b64Json }) => (
        <img key={b64Json} src={`data:image/png;base64,${b64Json}`} alt="What was asked for" />
      ))}
      {error && <p role="alert">{error.message}</p>}
    </section>
  );
}
