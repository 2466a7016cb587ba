import type { BlockList } from "node:net";
import QuickLru from "quick-lru";
import type { Database } from "../../db/database.ts";
import { InProgress } from "../../kernel/async/in-progress.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Principal } from "../auth/principal.ts";
import { type Hop, sourceAddress } from "../auth/source-address.ts";

type Dependencies = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly trusted: BlockList;
};

const REMEMBERED_KEYS = 10_000;
/** Half a second over the 60 s of the statements, so that a write is never too early for its own condition. */
const QUIET_MS = 60_500;

/**
 * Records when a key was last used, and for `mk-` keys from which address: at most once per key in 60 s, whatever the
 * load and the number of processes (SPEC 8). Requests do not wait for the write.
 */
export class KeyUseService {
  readonly #dependencies: Dependencies;
  readonly #lastMs = new QuickLru<string, number>({ maxSize: REMEMBERED_KEYS });
  readonly #writes = new InProgress();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Records a successful request. Sessions and anonymous callers are not recorded. */
  record(principal: Principal, hop: Hop): void {
    if (principal.kind !== "api-key" && principal.kind !== "management-key") return;
    const { keyId } = principal;
    const nowMs = this.#dependencies.clock.monotonicMs();
    if (nowMs - (this.#lastMs.get(keyId) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    this.#lastMs.set(keyId, nowMs);
    const write = this.#write(principal, hop).catch((error: unknown) => {
      this.#lastMs.delete(keyId);
      this.#dependencies.log.error({ err: error, keyId }, "the use of a key could not be recorded");
    });
    void this.#writes.add(write);
  }

  /** Waits until all recorded uses are written. */
  async drain(): Promise<void> {
    await this.#writes.settled();
  }

  async #write({ kind, keyId }: Used, hop: Hop): Promise<void> {
    const { database, trusted } = this.#dependencies;
    if (kind === "api-key") await database.rows(USE_API_KEY, [keyId]);
    else await database.rows(USE_MANAGEMENT_KEY, [keyId, sourceAddress(hop, trusted) ?? null]);
  }
}

type Used = Extract<Principal, { keyId: string }>;

const IS_DUE = "(last_used_at is null or last_used_at <= now() - interval '60 seconds')";

const USE_API_KEY = `update api_key set last_used_at = now() where id = $1::uuid and ${IS_DUE}`;

const USE_MANAGEMENT_KEY = `
  update management_key set last_used_at = now(), last_source_ip = coalesce($2::text, last_source_ip)
  where id = $1::uuid and ${IS_DUE}`;
