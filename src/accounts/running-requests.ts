import type { Queries } from "../db/database.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";
import type { HoldRequest } from "./holds.store.ts";

type Dependencies = { readonly queries: Queries; readonly clock: Clock; readonly log: Logger };
type Running = { readonly request: HoldRequest; readonly sinceMs: number; isListed: boolean };

const ROUND_MS = 500;
/** A request that runs longer than this is listed. */
const LISTED_AFTER_MS = 1_000;
const BATCH = 500;

/**
 * The requests of this process between their admission and their end. A request is recorded when it ends; only one that
 * runs for a second is listed as running before, so that most requests are written once.
 */
export class RunningRequests {
  readonly #dependencies: Dependencies;
  /** In the order of their admission. */
  readonly #running = new Map<string, Running>();
  readonly #rounds = new PeriodicTask({
    everyMs: ROUND_MS,
    work: () => this.list(),
    failed: (error) => this.#dependencies.log.warn({ err: error }, "running requests could not be listed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Adds a request that was admitted; from the first one on, they are listed every half second until `stop`. */
  add(request: HoldRequest): void {
    this.#rounds.start({ isLater: true });
    this.#running.set(request.id, {
      request,
      sinceMs: this.#dependencies.clock.monotonicMs(),
      isListed: false,
    });
  }

  /** A request that this process admitted; undefined after its end. */
  get(id: string): HoldRequest | undefined {
    return this.#running.get(id)?.request;
  }

  /** Removes a request that was settled. */
  delete(id: string): void {
    this.#running.delete(id);
  }

  /** Lists those that have run for a second and are not listed yet, and forgets those whose holds have expired. */
  async list(): Promise<void> {
    const nowMs = this.#dependencies.clock.monotonicMs();
    const due: Running[] = [];
    for (const running of this.#running.values()) {
      const { request, sinceMs, isListed } = running;
      if (nowMs - sinceMs < LISTED_AFTER_MS || due.length === BATCH) break;
      if (nowMs - sinceMs > 1_000 * request.expiresInSeconds) this.#running.delete(request.id);
      else if (!isListed) due.push(running);
    }
    if (due.length === 0) return;
    const rows = due.map(({ request, sinceMs }) => ({
      id: request.id,
      model: request.model,
      provider: request.provider,
      service_type: request.serviceType,
      input_price: request.inputPrice.toString(),
      output_price: request.outputPrice.toString(),
      trust_mode: request.trustMode ?? "standard",
      age_ms: Math.round(nowMs - sinceMs),
    }));
    await this.#dependencies.queries.rows(LIST, [JSON.stringify(rows)]);
    for (const running of due) running.isListed = true;
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }
}

/**
 * The hold is locked and must be open: of a request that is settled at the same moment either the settlement replaces
 * this row, or it is not inserted. A hold that is locked is being settled; its request is skipped.
 */
const LIST = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(id text, model text, provider text, service_type text,
      input_price numeric, output_price numeric, trust_mode text, age_ms int)
  ), held as (
    select id, account, api_key_id from hold
    where id = any(array(select id from requested)) and state || '' = 'open' order by id
    for no key update skip locked
  )
  insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
    output_price, trust_mode, created_at)
  select h.id, h.account, h.api_key_id, a.model, a.provider, a.service_type, 'running', a.input_price,
    a.output_price, a.trust_mode, now() - a.age_ms * interval '1 millisecond'
  from requested a join held h on h.id = a.id
  on conflict (id) do nothing`;
