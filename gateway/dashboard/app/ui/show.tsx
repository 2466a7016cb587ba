import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import type { Live as Followed } from "../../../../packages/client/src/react.ts";
import { toTokens } from "../amounts.ts";
import { reasonOf } from "../graph.ts";
import { useNetwork } from "../session.tsx";

/** A page: its title, its purpose, and its content. */
export function Page({
  title,
  about,
  actions,
  children,
}: {
  title: string;
  about?: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {about && <p className="quiet">{about}</p>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Card({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Figure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="figure">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** An amount in tokens; the exact neuron on hover. */
export function Money({ neuron, places = 6 }: { neuron: string; places?: number }) {
  const { symbol } = useNetwork();
  return (
    <span className="number" title={`${neuron} neuron`}>
      {toTokens(neuron, places)} <abbr title="the token of this network">{symbol}</abbr>
    </span>
  );
}

/** The time of day if it is today, otherwise also the date; the exact time on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span className="quiet">never</span>;
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const text = isToday
    ? date.toLocaleTimeString()
    : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return (
    <time dateTime={at} title={date.toISOString()}>
      {text}
    </time>
  );
}

/** An address or hash, shortened; the full value on hover and when copied. */
export function Hash({ of }: { of: string }) {
  return (
    <code title={of} className="hash">
      {of.length > 14 ? `${of.slice(0, 8)}…${of.slice(-4)}` : of}
    </code>
  );
}

/** Labels for states whose own word would mislead: a closed circuit lets requests through. */
const WORDS: Readonly<Record<string, string>> = {
  CLOSED: "healthy",
  HALF_OPEN: "recovering",
  OPEN: "unavailable",
};

const TONES: Readonly<Record<string, "good" | "bad" | "busy">> = {
  ACTIVE: "good",
  COMPLETED: "good",
  CONFIRMED: "good",
  VERIFIED: "good",
  CLOSED: "good",
  FOLLOWING: "good",
  FINALIZED: "good",
  PASS: "good",
  PASSED: "good",
  REVOKED: "bad",
  EXPIRED: "bad",
  FAILED: "bad",
  ABORTED: "bad",
  REVERTED: "bad",
  OPEN: "bad",
  FAIL: "bad",
  HALTED_DEEP_REORG: "bad",
  RPC_UNAVAILABLE: "bad",
};

/** A state in words, with a colour. */
export function Badge({ state }: { state: string }) {
  return (
    <span className={`badge ${TONES[state] ?? "busy"}`}>
      {WORDS[state] ?? state.toLowerCase().replaceAll("_", " ")}
    </span>
  );
}

/** Whether the data shown is live. */
export function Live({
  liveness: { state, error },
}: {
  liveness: Pick<Followed<unknown>, "state" | "error">;
}) {
  if (error) return <span className="badge bad">not live: {error.message}</span>;
  const isLive = state === "live" || state === "replaying";
  return (
    <span className={`badge ${isLive ? "good" : "busy"}`} role="status">
      {isLive ? "live" : "connecting…"}
    </span>
  );
}

/** The outcome of a query: an error, loading, empty, or its rows. */
export function Outcome<Row>({
  rows,
  error,
  fetching,
  empty,
  children,
}: {
  rows: readonly Row[] | undefined;
  error?: CombinedError | undefined;
  fetching: boolean;
  empty: ReactNode;
  children(rows: readonly Row[]): ReactNode;
}) {
  if (rows && rows.length > 0) return children(rows);
  if (error)
    return (
      <p role="alert" className="failure">
        {reasonOf(error)}
      </p>
    );
  if (fetching || !rows) return <Loading />;
  return <div className="empty">{empty}</div>;
}

/** A placeholder as high as the content, so that nothing jumps. */
export function Loading() {
  return (
    <div className="loading" role="status">
      <span className="unseen">Loading…</span>
    </div>
  );
}

/** A table that scrolls horizontally on a narrow screen. */
export function Table({
  label,
  heads,
  children,
}: {
  label: string;
  heads: readonly string[];
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
    <section className="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
