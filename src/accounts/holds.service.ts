import type { Database, Queries } from "../db/database.ts";
import { RunningClaims } from "../idempotency/running-claims.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import { systemClock, type WaitingClock } from "../kernel/clock.ts";
import { AppError, ClientLeftError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import { AllotmentsService } from "./allotments/allotments.service.ts";
import { LostMoney } from "./allotments/lost-money.ts";
import { recallAllotments } from "./allotments/recalls.store.ts";
import { awaitReturn } from "./allotments/recalls.ts";
import { KnownBudgets } from "./budgets/known-budgets.ts";
import { chargeClaimed } from "./claimed-charges.ts";
import {
  countOpen,
  findExpired,
  type HoldAnswer,
  type HoldRequest,
  hasOtherBudgets,
  placeHold,
} from "./holds.store.ts";
import { OrphanedHolds, type Withdrawal } from "./orphaned-holds.ts";
import { refusalOf, TagBudgetsChanged } from "./refusals.ts";
import { failedSettlement, repeated, resolveHolds, type Settlement } from "./settlements.store.ts";

/** Observes how requests are admitted and billed. `outcome` is `admitted`, or the error code of the refusal. */
export type HoldsObserver = {
  admission(outcome: string): void;
  admissionBatch(size: number): void;
  settlementBatch(size: number): void;
};

type Dependencies = {
  readonly database: Database;
  /** The process's own: its leases end by it. */
  readonly clock?: WaitingClock;
  readonly log: Logger;
  readonly committed: () => void;
  readonly observer?: HoldsObserver | undefined;
  /** The requests of this process with an idempotency key. */
  readonly claims?: RunningClaims;
  /** False if the owner calls `beat` and `sweep` itself, as a simulation does. */
  readonly isTimed?: boolean;
};

const SWEEP_EVERY_MS = 5_000;
const SWEEP_BATCH = 500;
/**
 * How many times a request waits for other processes to return unused money. After that, the money that they hold
 * counts as in use.
 */
const MAX_RETURNS = 3;
/**
 * How long a request waits for processes that do not return unused money. Within this time, the money of a dead process
 * becomes free.
 */
const RECALL_PATIENCE_MS = 15_000;
/** How many times the admission of a request is repeated because budgets of its account changed meanwhile. */
const MAX_CHANGES = 5;

/**
 * Holds money before a request and charges its cost afterwards (promises P1-P3). Requests of this process are paid from
 * its allotments. A request that any process may end, such as a job, has a hold of its own in the database. So has a
 * request with a tag that has a budget, because every process must know what is left of the budget; its hold ends with
 * the lease of this process.
 */
export class HoldsService {
  readonly #dependencies: Dependencies;
  readonly #clock: WaitingClock;
  readonly #allotments: AllotmentsService;
  readonly #lost: LostMoney;
  readonly #orphans: OrphanedHolds;
  readonly #budgets: KnownBudgets;
  /** The requests of this process that have a hold of their own. */
  readonly #placed = new Set<string>();
  readonly #claims: RunningClaims;
  /** The accounts of requests that were admitted with an idempotency key. */
  readonly #claimed = new Map<string, string>();
  /** Refusals that recalling unused allotments may change. */
  readonly #uncertain = new WeakSet<object>();
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "sweeping expired holds failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { observer, database: queries, clock = systemClock, log, committed, isTimed = true } = dependencies;
    this.#clock = clock;
    const { claims = new RunningClaims() } = dependencies;
    this.#claims = claims;
    const hasHolds = () => this.#placed.size > 0 || claims.size > 0;
    this.#allotments = new AllotmentsService({
      ...{ queries, clock, log, committed, isTimed, hasHolds },
      admissionBatch: (size) => observer?.admissionBatch(size),
      settlementBatch: (size) => observer?.settlementBatch(size),
    });
    this.#budgets = new KnownBudgets(queries);
    this.#lost = new LostMoney({ queries, clock });
    this.#orphans = new OrphanedHolds({ queries, log, committed });
  }

  /**
   * Sets up to `maximum` aside for a request that this process settles; resolves with that amount. The request is
   * recorded when it is settled, and as running after a second.
   * Throws `api_key_revoked` or `api_key_expired`; `insufficient_balance` or `credit_limit_exceeded` if the balance, the
   * key's limit or the budget of a tag does not cover `minimum`; and `KeyRestrictionsChanged` if the provider was chosen
   * by outdated restrictions of the key. When `signal` aborts, unused money of other processes is not waited for.
   */
  async hold(request: HoldRequest, signal = new AbortController().signal): Promise<bigint> {
    if (!this.#claims.has(request.id)) return this.#admit(request, signal);
    this.#claimed.set(request.id, request.account);
    try {
      return await this.#admit(request, signal);
    } catch (error) {
      this.#claimed.delete(request.id);
      throw error;
    }
  }

  async #admit(request: HoldRequest, signal: AbortSignal): Promise<bigint> {
    if (!request.tags) return this.#hold(request, signal);
    const { account, tags } = request;
    for (let changes = 0; ; changes++) {
      const { version, has } = this.#budgets.of(account);
      try {
        return await (has(tags)
          ? this.#place(request, signal)
          : this.#hold({ ...request, tagBudgetVersion: version }, signal));
      } catch (error) {
        if (!(error instanceof TagBudgetsChanged) || changes === MAX_CHANGES) throw error;
        await this.#budgets.refresh(account);
      }
    }
  }

  async #hold(request: HoldRequest, signal: AbortSignal): Promise<bigint> {
    const { processId } = this.#allotments;
    const except = { keyId: request.keyId, processId };
    const granted = await this.#unlessElsewhere({ account: request.account, except, signal }, async () => {
      const admission = await this.#allotments.admit(request);
      if (typeof admission === "bigint") return admission;
      throw this.#refusal(admission.answer, request, admission.unused);
    });
    this.#dependencies.observer?.admission("admitted");
    return granted;
  }

  /** Places a separate hold for a request that this process settles. The hold ends with the lease of this process. */
  async #place(request: HoldRequest, signal: AbortSignal): Promise<bigint> {
    this.#placed.add(request.id);
    try {
      const { processId } = this.#allotments;
      const owned = { ...request, processId };
      return await this.commit(
        request,
        () => this.#allotments.leased(() => this.holdIn(this.#dependencies.database, owned)),
        { signal },
      );
    } catch (error) {
      this.#placed.delete(request.id);
      throw error;
    }
  }

  /**
   * Places a hold in the caller's transaction, inside `commit`, and records its request as running: any process may
   * settle it. Resolves with the amount held. If it throws, as `hold` does, nothing was held.
   */
  async holdIn(tx: Queries, request: HoldRequest): Promise<bigint> {
    const answer = await placeHold(tx, request);
    if (answer.granted === undefined) throw this.#refusal(answer, request, 0n);
    return answer.granted;
  }

  /**
   * Runs a transaction in which `holdIn` places this hold, and signals its commit. Rejects as the transaction does. The
   * transaction is repeated if unused money of other processes may be enough, or if budgets of the request's tags
   * changed meanwhile. After an outage, it is unknown whether it was committed: the hold is ended once the database
   * responds, by `withdraw` if what was committed with it would go on without its hold.
   */
  async commit<T>(
    request: HoldRequest,
    transact: () => Promise<T>,
    { signal = new AbortController().signal, withdraw }: CommitOptions = {},
  ): Promise<T> {
    try {
      const result = await this.#unlessElsewhere({ account: request.account, signal }, () =>
        this.#signal(() => repeatChanged(transact)),
      );
      this.#dependencies.observer?.admission("admitted");
      return result;
    } catch (error) {
      if (isOutage(error) && !(error instanceof TagBudgetsChanged))
        this.#orphans.add(failedSettlement(request.id, "unavailable"), withdraw);
      throw error;
    }
  }

  /**
   * What the key could spend beyond its open holds when money was last taken for it in this process, neuron; undefined
   * if that is not cached. Only a hint: the amount may have been spent since.
   */
  lastSpendable(keyId: string): bigint | undefined {
    return this.#allotments.lastSpendable(keyId);
  }

  /**
   * Ends a request of this process and records its outcome. Resolves with the neuron charged: 0 if it had already ended.
   */
  async settle(ended: Settlement): Promise<bigint> {
    const claimedBy = this.#claimed.get(ended.id);
    const settlement = claimedBy === undefined ? ended : { ...ended, claimedBy };
    this.#claimed.delete(ended.id);
    const isPlaced = this.#placed.delete(settlement.id);
    const charged = await (isPlaced ? this.#settlePlaced(settlement) : this.#allotments.settle(settlement));
    if (charged !== undefined) return charged;
    const { id: requestId } = settlement;
    this.#dependencies.log.warn({ requestId }, "a request had already ended when it was settled");
    return 0n;
  }

  async #settlePlaced(settlement: Settlement): Promise<bigint | undefined> {
    try {
      const { database } = this.#dependencies;
      const [charged] = await this.#signal(() =>
        chargeClaimed(database, [settlement], (settlements, on) => resolveHolds(on.queries, settlements)),
      );
      return charged;
    } catch (error) {
      this.#orphans.add(repeated(settlement));
      throw error;
    }
  }

  /**
   * Ends a hold in the caller's transaction; the caller signals the commit. Resolves with the neuron charged; undefined
   * if the hold had already ended.
   */
  async settleIn(tx: Queries, settlement: Settlement): Promise<bigint | undefined> {
    const [charged] = await resolveHolds(tx, [settlement]);
    return charged;
  }

  /** The number of open holds and of allotments, across all processes. */
  open(): Promise<number> {
    return countOpen(this.#dependencies.database);
  }

  /**
   * Releases every expired hold, and the money held by processes that died, without a charge. Returns the number of
   * both.
   */
  async sweep(): Promise<number> {
    const { database, log, committed } = this.#dependencies;
    const ids = await findExpired(database, SWEEP_BATCH);
    if (ids.length > 0) {
      const expired = ids.map((id) => ({ ...failedSettlement(id, "expired"), expired: true }));
      await this.#signal(() => resolveHolds(database, expired));
      log.warn({ holds: ids.length }, "expired holds were released");
    }
    const lost = await this.#lost.look();
    if (lost > 0) {
      committed();
      log.warn({ lost }, "holds and allotments of processes that ended were released");
    }
    return ids.length + lost;
  }

  /** The name of this process among those that hold allotments. */
  get processId(): string {
    return this.#allotments.processId;
  }

  /** See `AllotmentsService.leased`. */
  leased<T>(statement: () => Promise<T>): Promise<T> {
    return this.#allotments.leased(statement);
  }

  /** See `AllotmentsService.beat`. */
  beat(): Promise<void> {
    return this.#allotments.beat();
  }

  /** Returns the money that this process holds and does not need for requests in progress. */
  returnUnused(): Promise<void> {
    return this.#allotments.returnUnused();
  }

  /** Allotments of the account were recalled, possibly those of this process. */
  recalled(account: string): void {
    this.#allotments.recalled(account);
  }

  /** Sweeps now and every 5 s until `stop`. */
  start(): void {
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    await this.#orphans.stop();
    await this.#sweeps.stop();
    await this.#allotments.stop();
  }

  /**
   * Repeats an admission that was refused while other allotments of the account were not used up, without them. Throws
   * `ClientLeftError` when the recall's signal aborts.
   */
  async #unlessElsewhere<T>(recall: Recall, admit: () => Promise<T>): Promise<T> {
    let sinceMs: number | undefined;
    for (let returns = 0; ; ) {
      try {
        return await admit();
      } catch (error) {
        if (returns < MAX_RETURNS && this.#uncertain.has(Object(error))) {
          sinceMs ??= this.#clock.monotonicMs();
          if (this.#clock.monotonicMs() - sinceMs >= RECALL_PATIENCE_MS) throw balanceUnknown();
          if (await this.#recall(recall)) returns++;
          if (recall.signal.aborted) throw new ClientLeftError();
          continue;
        }
        if (error instanceof AppError && REFUSALS.has(error.code))
          this.#dependencies.observer?.admission(error.code);
        throw error;
      }
    }
  }

  async #recall({ account, except, signal }: Recall): Promise<boolean> {
    const { database } = this.#dependencies;
    const ids = await this.#signal(() => recallAllotments(database, account, except));
    this.#allotments.recalled(account);
    return awaitReturn(database, this.#clock, ids, signal);
  }

  #refusal(answer: HoldAnswer, request: HoldRequest, unused: bigint): Error {
    if (answer.hasNewBudgets || hasOtherBudgets(answer, request)) return new TagBudgetsChanged();
    const refusal = refusalOf(answer, request, unused);
    if (answer.isElsewhere && !answer.budget && isForMoney(refusal)) this.#uncertain.add(refusal);
    return refusal;
  }

  async #signal<T>(work: () => Promise<T>): Promise<T> {
    const result = await work();
    this.#dependencies.committed();
    return result;
  }
}

/** The allotments to recall: those of an account, except one. `signal` ends the wait for them. */
type Recall = {
  readonly account: string;
  readonly except?: { readonly keyId: string; readonly processId: string };
  readonly signal: AbortSignal;
};

type CommitOptions = { readonly signal?: AbortSignal | undefined; readonly withdraw?: Withdrawal };

const MONEY_REFUSALS: ReadonlySet<string> = new Set(["insufficient_balance", "credit_limit_exceeded"]);
const REFUSALS: ReadonlySet<string> = new Set([...MONEY_REFUSALS, "api_key_revoked", "api_key_expired"]);

function isForMoney(refusal: Error): boolean {
  return refusal instanceof AppError && MONEY_REFUSALS.has(refusal.code);
}

/** Whether the balance is sufficient is unknown: another process may hold unused money, and does not return it. */
function balanceUnknown(): AppError {
  const message = "A part of the balance is held by a process that does not answer. Try again.";
  return new AppError("unavailable", message, { retryAfterSeconds: 5 });
}

/** Runs `transact` again while it fails because budgets were changed. */
async function repeatChanged<T>(transact: () => Promise<T>): Promise<T> {
  for (let changes = 0; ; changes++) {
    try {
      return await transact();
    } catch (error) {
      if (!(error instanceof TagBudgetsChanged) || changes === MAX_CHANGES) throw error;
    }
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}
