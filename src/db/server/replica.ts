import pg, { type Pool } from "pg";
import type { ReadPool } from "./read-pool.ts";
import type { ServerAddress } from "./server-address.ts";
import { ServerWatch } from "./server-watch.ts";

const SAMPLE_MS = 1_000;
/** A server that takes longer to tell its position counts as unreachable. */
const TIMEOUT_MS = 2_000;
const MAX_SAMPLES = 1_000;

const WRITTEN = "select (pg_current_wal_lsn() - '0/0')::text as position";
const REPLAYED = "select (pg_last_wal_replay_lsn() - '0/0')::text as position";

/** A position of the primary's write-ahead log, and when it was read there. */
type Sample = { readonly position: bigint; readonly atMs: number };

/**
 * A streaming standby for reads that may lag. Its lag is measured in this process, without clocks of other machines:
 * every second the primary's position in its write-ahead log is noted, and the lag is the time since the latest noted
 * position that the standby has replayed. A standby that is cut off from the primary falls behind thereby.
 */
export class Replica {
  readonly reads: ReadPool;
  readonly #primary: Pool;
  readonly #positions: Pool;
  readonly #watch: ServerWatch;
  readonly #maxLagMs: number;
  readonly #timer: NodeJS.Timeout;
  #samples: readonly Sample[] = [];
  /** When the primary was in the state that is known to be replayed. */
  #freshAtMs = Number.NEGATIVE_INFINITY;
  #isReachable = false;
  #sampling: Promise<void> | undefined;

  /** `reads` and `address` lead to the replica, and `primary` to the server that it follows. */
  constructor(
    reads: ReadPool,
    { address, primary, maxLagMs }: { address: ServerAddress; primary: Pool; maxLagMs: number },
  ) {
    this.reads = reads;
    this.#primary = primary;
    this.#maxLagMs = maxLagMs;
    this.#positions = new pg.Pool({
      ...address,
      max: 1,
      query_timeout: TIMEOUT_MS,
      connectionTimeoutMillis: TIMEOUT_MS,
    });
    this.#positions.on("error", () => {});
    this.#watch = new ServerWatch(reads.pool, address);
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS).unref();
    this.#sample();
  }

  /** Whether it may be read from: it responds, and lags by no more than the limit. */
  get isFresh(): boolean {
    return this.#isReachable && performance.now() - this.#freshAtMs <= this.#maxLagMs;
  }

  /** `ok`, or why it is not read from. */
  get state(): "ok" | "unreachable" | "behind" {
    if (!this.#isReachable) return "unreachable";
    return this.isFresh ? "ok" : "behind";
  }

  /** How long ago the primary had the state that the replica has, at most; undefined if that is not known. */
  get lagSeconds(): number | undefined {
    if (!this.#isReachable || this.#freshAtMs === Number.NEGATIVE_INFINITY) return undefined;
    return (performance.now() - this.#freshAtMs) / 1_000;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sampling;
    await this.#watch.stop();
    await Promise.all([this.reads.close(), this.#positions.end()]);
  }

  #sample(): void {
    this.#sampling ??= this.#measure().finally(() => {
      this.#sampling = undefined;
    });
  }

  async #measure(): Promise<void> {
    const atMs = performance.now();
    const written = await positionIn(this.#primary, WRITTEN).catch(() => undefined);
    // Of too many samples the oldest are dropped, which only overstates the lag.
    if (written !== undefined)
      this.#samples = [...this.#samples, { position: written, atMs }].slice(-MAX_SAMPLES);
    const replayed = await positionIn(this.#positions, REPLAYED).catch(() => undefined);
    this.#isReachable = replayed !== undefined;
    if (replayed === undefined) return;
    const latest = this.#samples.findLast(({ position }) => position <= replayed);
    if (!latest) return;
    this.#freshAtMs = latest.atMs;
    this.#samples = this.#samples.filter((sample) => sample.atMs > latest.atMs);
  }
}

/** Undefined if the server has none: a primary has not replayed anything, and a standby has not written. */
async function positionIn(pool: Pool, sql: string): Promise<bigint | undefined> {
  const [row] = (await pool.query<{ position: string | null }>(sql)).rows;
  return row?.position ? BigInt(row.position) : undefined;
}
