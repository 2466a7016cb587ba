import QuickLru from "quick-lru";
import type { Database, Queries, Transaction } from "../db/database.ts";
import { NaturalBatch } from "../kernel/async/batch.ts";
import { AppError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import { KeyRestrictionsChanged } from "../keys/api-keys/key-settings.ts";
import { countOpen, findExpired, type HoldAnswer, type HoldRequest, placeHolds } from "./holds.store.ts";
import { OrphanedHolds } from "./orphaned-holds.ts";
import { resolveHolds, type Settlement } from "./settlements.store.ts";

/** Who is told how requests are admitted and billed. `outcome` is `admitted`, or the code of the refusal. */
export type HoldsObserver = {
  admission(outcome: string): void;
  admissionBatch(size: number): void;
  settlementBatch(size: number): void;
};

type Dependencies = {
  readonly database: Database;
  readonly log: Logger;
  readonly committed: () => void;
  readonly observer?: HoldsObserver | undefined;
};

/** Of so many keys it is remembered what they could spend. */
const REMEMBERED_KEYS = 10_000;
const SWEEP_EVERY_MS = 10_000;
const SWEEP_BATCH = 500;

/**
 * Sets money aside before a request and takes what it cost afterwards (promises P1-P3). Requests that come in while
 * a statement is in flight share the next one.
 */
export class HoldsService {
  readonly #dependencies: Dependencies;
  readonly #admissions: NaturalBatch<HoldRequest, HoldAnswer>;
  readonly #settlements: NaturalBatch<Settlement, bigint | undefined>;
  readonly #strays: OrphanedHolds;
  readonly #spendable = new QuickLru<string, bigint>({ maxSize: REMEMBERED_KEYS });
  #sweeper: NodeJS.Timeout | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { observer } = dependencies;
    this.#strays = new OrphanedHolds({ ...dependencies, queries: dependencies.database });
    this.#admissions = new NaturalBatch((holds) => {
      observer?.admissionBatch(holds.length);
      return this.#commit(() => placeHolds(dependencies.database, holds));
    });
    this.#settlements = new NaturalBatch((ends) => {
      observer?.settlementBatch(ends.length);
      return this.#commit(() => resolveHolds(dependencies.database, ends));
    });
  }

  /**
   * Sets aside up to `maximum` and records the request as running; resolves with the amount held. Throws
   * `api_key_revoked` or `api_key_expired`; `insufficient_balance` or `credit_limit_exceeded` when not even `minimum`
   * is there or left of the key's limit; and `KeyRestrictionsChanged` when the provider was chosen by what the key might
   * reach before. What `alongside` writes is committed with the hold, or neither is.
   */
  async hold(
    request: HoldRequest,
    alongside?: (tx: Transaction, grantedNeuron: bigint) => Promise<void>,
  ): Promise<bigint> {
    const answer = await this.#place(request, alongside).catch((error: unknown) => {
      // It may or may not have been placed; no request will use it.
      if (isOutage(error)) this.#strays.note(ending(request.id, "unavailable"));
      throw error;
    });
    const { available, keyAvailable = available } = answer;
    this.#spendable.set(request.keyId, keyAvailable < available ? keyAvailable : available);
    if (answer.granted === undefined) {
      const refusal = refusalOf(answer, request);
      if (refusal instanceof AppError) this.#dependencies.observer?.admission(refusal.code);
      throw refusal;
    }
    this.#dependencies.observer?.admission("admitted");
    return answer.granted;
  }

  /**
   * What the key could spend beside its open holds when it was last admitted in this process, neuron; undefined when that
   * is not remembered. A hint and no promise: it may have been spent since.
   */
  lastSpendable(keyId: string): bigint | undefined {
    return this.#spendable.get(keyId);
  }

  /** Ends a hold and records the request's outcome. Resolves with the neuron charged; a hold ends only once. */
  async settle(settlement: Settlement): Promise<bigint> {
    const charged = await this.#settlements.add(settlement).catch((error: unknown) => {
      if (isOutage(error)) this.#strays.note(settlement);
      throw error;
    });
    if (charged === undefined) {
      this.#dependencies.log.warn({ requestId: settlement.id }, "a hold had ended before it was settled");
      return 0n;
    }
    return charged;
  }

  /**
   * Ends a hold in a transaction of the caller's, who says when it is committed. Resolves with the neuron charged;
   * undefined when the hold had ended before.
   */
  async settleIn(tx: Queries, settlement: Settlement): Promise<bigint | undefined> {
    const [charged] = await resolveHolds(tx, [settlement]);
    return charged;
  }

  /** How many holds are open, of all processes. */
  open(): Promise<number> {
    return countOpen(this.#dependencies.database);
  }

  /** Ends every hold past its expiry, without a charge. Returns how many. */
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
    const sweep = () =>
      this.sweep().catch((error: unknown) =>
        this.#dependencies.log.error({ err: error }, "sweeping expired holds failed"),
      );
    void sweep();
    this.#sweeper = setInterval(sweep, SWEEP_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#sweeper);
    this.#strays.stop();
  }

  async #place(
    request: HoldRequest,
    alongside?: (tx: Transaction, grantedNeuron: bigint) => Promise<void>,
  ): Promise<HoldAnswer> {
    if (alongside) return this.#placeWith(request, alongside);
    const first = await this.#admissions.add(request);
    // In a batch a hold counts those before it at their maximum, so a refusal in company may be too strict: ask alone.
    return isFinal(first, request) ? first : this.#placeAlone(request);
  }

  #placeWith(
    request: HoldRequest,
    alongside: (tx: Transaction, grantedNeuron: bigint) => Promise<void>,
  ): Promise<HoldAnswer> {
    return this.#commit(() =>
      this.#dependencies.database.transaction(async (tx) => {
        const [answer] = await placeHolds(tx, [request]);
        if (!answer) throw new Error("an admission was not answered");
        if (answer.granted !== undefined) await alongside(tx, answer.granted);
        return answer;
      }),
    );
  }

  async #placeAlone(request: HoldRequest): Promise<HoldAnswer> {
    const [answer] = await this.#commit(() => placeHolds(this.#dependencies.database, [request]));
    if (!answer) throw new Error("an admission was not answered");
    return answer;
  }

  async #commit<T>(work: () => Promise<T>): Promise<T> {
    const result = await work();
    this.#dependencies.committed();
    return result;
  }
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
  if (answer.key === "revoked") return new AppError("api_key_revoked", "This key was revoked.");
  if (answer.key === "expired") return new AppError("api_key_expired", "This key has expired.");
  if (answer.restrictions) return new KeyRestrictionsChanged(answer.restrictions);
  if (isOverLimit(answer, request))
    return new AppError(
      "credit_limit_exceeded",
      "What is left of this key's credit limit does not cover this request.",
    );
  return new AppError("insufficient_balance", "The balance does not cover this request. Deposit to go on.");
}

function isOutage(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}

/** The end of a hold that nothing is charged for. */
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
