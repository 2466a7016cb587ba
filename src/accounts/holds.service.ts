import QuickLru from "quick-lru";
import type { Database, Queries } from "../db/database.ts";
import { Mutex, NaturalBatch } from "../kernel/async/batch.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { AppError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import { KeyRestrictionsChanged } from "../keys/api-keys/key-settings.ts";
import { credentialEnded } from "../keys/auth/ended-credential.ts";
import {
  countOpen,
  findExpired,
  type HoldAnswer,
  type HoldRequest,
  type NewHold,
  placeHolds,
} from "./holds.store.ts";
import { OrphanedHolds } from "./orphaned-holds.ts";
import { RunningRequests } from "./running-requests.ts";
import { type RecordedSettlement, resolveHolds, type Settlement } from "./settlements.store.ts";

/** Observes how requests are admitted and billed. `outcome` is `admitted`, or the error code of the refusal. */
export type HoldsObserver = {
  admission(outcome: string): void;
  admissionBatch(size: number): void;
  settlementBatch(size: number): void;
};

type Dependencies = {
  readonly database: Database;
  readonly clock?: Clock;
  readonly log: Logger;
  readonly committed: () => void;
  readonly observer?: HoldsObserver | undefined;
};

/** The number of keys whose spendable amount is cached. */
const REMEMBERED_KEYS = 10_000;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_BATCH = 500;

/**
 * Holds money before a request and charges its cost afterwards (promises P1-P3). Requests that arrive while a statement
 * is in flight share the next one.
 */
export class HoldsService {
  readonly #dependencies: Dependencies;
  readonly #admissions: NaturalBatch<NewHold, HoldAnswer>;
  readonly #settlements: NaturalBatch<RecordedSettlement, bigint | undefined>;
  readonly #running: RunningRequests;
  readonly #orphans: OrphanedHolds;
  readonly #spendable = new QuickLru<string, bigint>({ maxSize: REMEMBERED_KEYS });
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "sweeping expired holds failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { observer, database: queries, clock = systemClock, log } = dependencies;
    this.#running = new RunningRequests({ queries, clock, log });
    this.#orphans = new OrphanedHolds({ ...dependencies, queries: dependencies.database });
    // At once, the two wait for each other's locks on accounts and keys inside PostgreSQL, in smaller batches: with 16
    // requests in flight each statement took three times as long, and a request twice PostgreSQL's processor time.
    const mutex = new Mutex();
    this.#admissions = new NaturalBatch(
      (holds) => {
        observer?.admissionBatch(holds.length);
        return this.#commit(() => placeHolds(dependencies.database, holds));
      },
      { mutex },
    );
    this.#settlements = new NaturalBatch(
      (ends) => {
        observer?.settlementBatch(ends.length);
        return this.#commit(() => resolveHolds(dependencies.database, ends));
      },
      { mutex },
    );
  }

  /**
   * Holds up to `maximum`; resolves with the amount held. The request is recorded when this process settles it, and as
   * running after a second.
   * Throws `api_key_revoked` or `api_key_expired`; `insufficient_balance` or `credit_limit_exceeded` if the balance or
   * the key's limit does not cover `minimum`; and `KeyRestrictionsChanged` if the provider was chosen by outdated
   * restrictions of the key.
   */
  async hold(request: HoldRequest): Promise<bigint> {
    const answer = await this.#place(request).catch((error: unknown) => {
      this.#noteOutage(request, error);
      throw error;
    });
    const granted = this.#grantedBy(answer, request);
    this.#running.add(request);
    this.#dependencies.observer?.admission("admitted");
    return granted;
  }

  /**
   * Places a hold in the caller's transaction, which the caller passes to `awaitCommit`, and records its request as
   * running: any process may settle it. Resolves with the amount held. If it throws, as `hold` does, nothing was held.
   */
  async holdIn(tx: Queries, request: HoldRequest): Promise<bigint> {
    return this.#grantedBy(await placeAlone(tx, { ...request, isListed: true }), request);
  }

  /** Awaits a transaction in which `holdIn` places this hold, and signals its commit. Rejects as the transaction does. */
  async awaitCommit<T>(request: HoldRequest, transaction: Promise<T>): Promise<T> {
    try {
      const result = await this.#commit(() => transaction);
      this.#dependencies.observer?.admission("admitted");
      return result;
    } catch (error) {
      this.#noteOutage(request, error);
      throw error;
    }
  }

  /**
   * What the key could spend beyond its open holds when it was last admitted in this process, neuron; undefined if that
   * is not cached. Only a hint: the amount may have been spent since.
   */
  lastSpendable(keyId: string): bigint | undefined {
    return this.#spendable.get(keyId);
  }

  /**
   * Ends a hold of this process, or a listed one, and records the request's outcome. Resolves with the neuron charged:
   * 0 if the hold had already ended.
   */
  async settle(settlement: Settlement): Promise<bigint> {
    const recorded = { ...settlement, request: this.#running.get(settlement.id) };
    const charged = await this.#settlements
      .add(recorded)
      .catch((error: unknown) => {
        if (isOutage(error)) this.#orphans.add(recorded);
        throw error;
      })
      .finally(() => this.#running.delete(settlement.id));
    if (charged === undefined) {
      this.#dependencies.log.warn(
        { requestId: settlement.id },
        "a hold had already ended when it was settled",
      );
      return 0n;
    }
    return charged;
  }

  /**
   * Ends a hold in the caller's transaction; the caller signals the commit. Resolves with the neuron charged; undefined
   * if the hold had already ended.
   */
  async settleIn(tx: Queries, settlement: Settlement): Promise<bigint | undefined> {
    const [charged] = await resolveHolds(tx, [settlement]);
    return charged;
  }

  /** The number of open holds, across all processes. */
  open(): Promise<number> {
    return countOpen(this.#dependencies.database);
  }

  /** Releases every expired hold, without a charge. Returns their number. */
  async sweep(): Promise<number> {
    const ids = await findExpired(this.#dependencies.database, SWEEP_BATCH);
    if (ids.length === 0) return 0;
    await this.#commit(() =>
      resolveHolds(
        this.#dependencies.database,
        ids.map((id) => ({ ...ending(id, "expired"), expired: true })),
      ),
    );
    this.#dependencies.log.warn({ holds: ids.length }, "expired holds were released");
    return ids.length;
  }

  /** Sweeps now and every 10 s until `stop`. */
  start(): void {
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    this.#orphans.stop();
    await Promise.all([this.#sweeps.stop(), this.#running.stop()]);
  }

  async #place(request: HoldRequest): Promise<HoldAnswer> {
    const hold = { ...request, isListed: false };
    const first = await this.#admissions.add(hold);
    // In a batch, earlier holds count at their maximum, so a refusal may be too strict: the request is retried alone.
    if (isFinal(first, request)) return first;
    return this.#commit(() => placeAlone(this.#dependencies.database, hold));
  }

  /** The amount held; throws the refusal if nothing was. */
  #grantedBy(answer: HoldAnswer, request: HoldRequest): bigint {
    const { granted, available, keyAvailable = available } = answer;
    this.#spendable.set(request.keyId, keyAvailable < available ? keyAvailable : available);
    if (granted !== undefined) return granted;
    const refusal = refusalOf(answer, request);
    if (refusal instanceof AppError) this.#dependencies.observer?.admission(refusal.code);
    throw refusal;
  }

  /** After an outage, the hold may or may not have been placed; no request will use it. */
  #noteOutage({ id }: HoldRequest, error: unknown): void {
    if (isOutage(error)) this.#orphans.add(ending(id, "unavailable"));
  }

  async #commit<T>(work: () => Promise<T>): Promise<T> {
    const result = await work();
    this.#dependencies.committed();
    return result;
  }
}

async function placeAlone(queries: Queries, request: NewHold): Promise<HoldAnswer> {
  const [answer] = await placeHolds(queries, [request]);
  if (!answer) throw new Error("an admission was not answered");
  return answer;
}

function isFinal(answer: HoldAnswer, request: HoldRequest): boolean {
  const { granted, key, restrictions, available } = answer;
  const isJudged = granted !== undefined || key !== "active" || restrictions !== undefined;
  return isJudged || available < request.minimum || isOverLimit(answer, request);
}

function isOverLimit({ keyAvailable }: HoldAnswer, { minimum }: HoldRequest): boolean {
  return keyAvailable !== undefined && keyAvailable < minimum;
}

function refusalOf(answer: HoldAnswer, request: HoldRequest): Error {
  if (answer.key === "revoked") return credentialEnded("api_key_revoked");
  if (answer.key === "expired") return credentialEnded("api_key_expired");
  if (answer.restrictions) return new KeyRestrictionsChanged(answer.restrictions);
  if (isOverLimit(answer, request))
    return new AppError(
      "credit_limit_exceeded",
      "The remaining credit limit of this key does not cover this request.",
    );
  return new AppError(
    "insufficient_balance",
    "The balance does not cover this request. Deposit funds to continue.",
  );
}

function isOutage(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}

/** A settlement that ends a hold without a charge. */
function ending(id: string, errorCode: string): Settlement {
  return {
    id,
    outcome: "failed",
    inputTokens: undefined,
    outputTokens: undefined,
    usageEstimated: false,
    inputCost: 0n,
    outputCost: 0n,
    errorCode,
    firstByteMs: undefined,
    durationMs: undefined,
  };
}
