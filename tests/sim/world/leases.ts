import type { Database } from "../../../src/db/database.ts";
import { demand } from "../fault.ts";

/** A process that lives and holds allotments must have this long to renew its lease after somebody saw it ended. */
const CHANCE_MS = 4_000;
/** How the sweeper's look at ended leases begins. */
const LOOK = /^select id::text as id, expires_at::text as at/;

type Lease = { readonly at: string; readonly seenMs: number };

/** The leases of the simulated processes, and whether a sweeper gives them time to renew them. */
export class SimLeases {
  /** The ended leases that a sweeper saw, by process, with the time of its first look. */
  #ended = new Map<string, Lease>();
  /** The processes that had a lease after the statement before. */
  #known: ReadonlySet<string> = new Set();

  /** Called after each statement, which its label names. */
  async read(
    database: Database,
    living: readonly { readonly processId: string }[],
    label: string,
  ): Promise<void> {
    type Row = { id: string; at: string; now_ms: string; is_ended: boolean };
    const rows = await database.rows<Row>(LEASES);
    const isGone = (processId: string) =>
      this.#known.has(processId) && !rows.some(({ id }) => id === processId);
    const nowMs = Number(rows[0]?.now_ms ?? 0);
    for (const { processId } of living)
      if (RELEASE.test(label) && isGone(processId)) {
        const seen = this.#ended.get(processId);
        const [now] = await database.rows<{ ms: string }>(NOW);
        demand(
          seen !== undefined && Number(now?.ms) - seen.seenMs >= CHANCE_MS,
          `the allotments of ${processId} were released before it could renew its lease`,
        );
      }
    this.#known = new Set(rows.map(({ id }) => id));
    if (LOOK.test(label))
      this.#ended = new Map(
        rows.flatMap(({ id, at, is_ended }) => {
          if (!is_ended) return [];
          const known = this.#ended.get(id);
          return [[id, known?.at === at ? known : { at, seenMs: nowMs }]];
        }),
      );
  }
}

/** How the release of a lost process's allotments begins. */
const RELEASE = /^with lost as \( select l.id from process_lease/;

const NOW = "select (extract(epoch from now()) * 1000)::bigint::text as ms";

const LEASES = `
  select id::text as id, expires_at::text as at, (extract(epoch from now()) * 1000)::bigint::text as now_ms,
    expires_at < now() as is_ended
  from process_lease`;
