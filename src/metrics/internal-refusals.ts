import type { Logger } from "../kernel/log.ts";

/** How often the refusals of one peer are logged, and how long the last one is part of readiness. */
const EVERY_MS = 60_000;
const ADVICE =
  "give gateways and subgraphs the same INTERNAL_SECRET, and clocks that differ by less than 30 s: see Rotating secrets in docs/operations.md";

/**
 * Refused requests between the processes of one deployment. Clients get `unavailable` for them; operators find what to
 * do in the log, once a minute, and a remark in `/readyz` until a minute after the last refusal.
 */
export class InternalRefusals {
  readonly #log: Pick<Logger, "error">;
  readonly #nowMs: () => number;
  readonly #refusals = new Map<string, { atMs: number; loggedAtMs: number }>();

  constructor(log: Pick<Logger, "error">, nowMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Records that `what` happened, one of a few texts such as "the subgraph accounts refuses this gateway". */
  record(what: string, reason: string): void {
    const nowMs = this.#nowMs();
    const loggedAtMs = this.#refusals.get(what)?.loggedAtMs ?? Number.NEGATIVE_INFINITY;
    const isDue = nowMs - loggedAtMs >= EVERY_MS;
    this.#refusals.set(what, { atMs: nowMs, loggedAtMs: isDue ? nowMs : loggedAtMs });
    if (isDue) this.#log.error({ reason }, `${what}: ${ADVICE}`);
  }

  /** What happened in the last minute; undefined if nothing did. */
  get remark(): string | undefined {
    const sinceMs = this.#nowMs() - EVERY_MS;
    const recent = [...this.#refusals].filter(([, { atMs }]) => atMs > sinceMs);
    return recent.length === 0 ? undefined : `${recent.map(([what]) => what).join(", ")}: see the log`;
  }
}
