import QuickLru from "quick-lru";
import type { Database } from "../../db/database.ts";
import { Mutex, NaturalBatch } from "../../kernel/async/batch.ts";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import { newId } from "../../kernel/text/ids.ts";
import { detached } from "../../kernel/tracing.ts";
import { TransientMap } from "../../kernel/transient-map.ts";
import { chargeClaimed } from "../claimed-charges.ts";
import { type HoldRequest, hasOtherBudgets } from "../holds.store.ts";
import { failedSettlement, repeated, type Settlement } from "../settlements.store.ts";
import { Allotment, NO_TERMS } from "./allotment.ts";
import type { AllotmentRow } from "./allotment-row.ts";
import { endLease, LEASE_SECONDS, renewLease } from "./leases.store.ts";
import { type End, type Running, returnsAfter, settleEnds, withSettlements } from "./request-ends.ts";
import { listRunning } from "./running-requests.store.ts";
import { type KeyNeed, type TakeAnswer, takeAllotments } from "./take.store.ts";

type Dependencies = {
  readonly queries: Pick<Database, "rows" | "repeatable">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly committed: () => void;
  readonly admissionBatch: (size: number) => void;
  readonly settlementBatch: (size: number) => void;
  /** Whether holds of their own, or idempotency keys, need the lease of this process. */
  readonly hasHolds: () => boolean;
  /** False if the owner calls `beat` itself. */
  readonly isTimed: boolean;
};

/** The outcome of an admission: the amount granted, or the database's refusal. */
export type Admission = bigint | Refusal;
export type Refusal = { readonly answer: TakeAnswer; readonly unused: bigint };

/** A request that waits with others. `admitted` is called when it need not wait for the statement of the others. */
type Waiting = { readonly request: HoldRequest; readonly admitted: (granted: bigint) => void };

const BEAT_MS = 500;
/** A lease ends this much earlier for its process than for the database, whose clock may be another one tomorrow. */
const MARGIN_MS = 300;
/** An allotment of which nothing was used for so long is returned. */
const IDLE_MS = 2_000;
/** Without allotments, a process watches this long for one that a lost statement may have left. */
const QUIET_MS = 15_000;
/** A request that runs longer than this is listed. */
const LISTED_AFTER_MS = 1_000;
const BATCH = 500;
/** The number of keys whose spendable amount is cached. */
const REMEMBERED_KEYS = 10_000;

/**
 * The money that this process may spend without asking again. The first request of a key takes an allotment: as much as
 * the request needs, and something in advance. The next requests are admitted in memory while the process's lease
 * lasts. The unused part is returned when another process recalls it, when the key changes, or when nothing was
 * admitted for two seconds.
 *
 * The statements of a process run one at a time, so that its knowledge of its allotments is exact between them.
 * Concurrent statements would have smaller batches and wait for each other's locks on accounts and keys: with 16
 * requests in flight, each statement took three times as long, and each request twice the processor time of PostgreSQL.
 */
export class AllotmentsService {
  readonly processId = newId();
  readonly #dependencies: Dependencies;
  readonly #mutex = new Mutex();
  readonly #admissions: NaturalBatch<Waiting, Admission>;
  readonly #settlements: NaturalBatch<Settlement, bigint | undefined>;
  readonly #byKey = new Map<string, Allotment>();
  /** In the order of their admission. */
  readonly #running = new TransientMap<string, Running>();
  readonly #spendable = new QuickLru<string, bigint>({ maxSize: REMEMBERED_KEYS });
  readonly #beats = new PeriodicTask({
    everyMs: BEAT_MS,
    work: () => this.beat(),
    failed: (error) => this.#failed(error),
  });
  #nextBeat: Promise<void> | undefined;
  #isFailing = false;
  #lease = NO_LEASE;
  #usedMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const mutex = this.#mutex;
    this.#admissions = new NaturalBatch((waiting) => this.#admitAll(waiting), { mutex });
    // Other requests may end in the same turn. Settling them together answered 5 % more at 16 and at 64 connections.
    this.#settlements = new NaturalBatch((settlements) => this.#settleAll(settlements), {
      mutex,
      gathers: () => this.#running.size > 1,
    });
  }

  /** Admits a request: in memory if the key's allotment covers it. Resolves with the amount granted, or the refusal. */
  async admit(request: HoldRequest): Promise<Admission> {
    const granted = this.#admitInMemory(request);
    if (granted !== undefined) return granted;
    const { promise, resolve: admitted } = Promise.withResolvers<bigint>();
    const admission = await Promise.race([promise, this.#admissions.add({ request, admitted })]);
    if (typeof admission === "bigint" || isFinal(admission.answer, request)) return admission;
    return this.#mutex.run(() => this.#admitAlone(request));
  }

  /**
   * Ends a request that this process admitted. Resolves with the neuron charged, undefined if it had already ended.
   * Rejects if the database is unreachable: the settlement is then repeated until the database answers.
   */
  async settle(settlement: Settlement): Promise<bigint | undefined> {
    return this.#settlements.add(settlement);
  }

  /** Runs a statement that starts the lease of this process if it has none, and keeps the lease while it is needed. */
  async leased<T>(statement: () => Promise<T>): Promise<T> {
    const startedMs = this.#begins();
    const result = await statement();
    if (!this.#isLeased(startedMs)) this.#wake();
    return result;
  }

  /** What the key could spend beyond what is held when money was last taken for it; undefined if that is not cached. */
  lastSpendable(keyId: string): bigint | undefined {
    return this.#spendable.get(keyId);
  }

  /**
   * Renews the lease, reads what other processes recalled, lists the requests that have run for a second, and returns
   * what is recalled or idle. Done every half second while there are allotments or holds. Callers share a beat that has
   * not begun.
   */
  beat(): Promise<void> {
    this.#nextBeat ??= detached(() =>
      this.#mutex.run(() => {
        this.#nextBeat = undefined;
        return this.#beat();
      }),
    );
    return this.#nextBeat;
  }

  /** Beats at once, if this process has allotments of the account: they were recalled. */
  recalled(account: string): void {
    for (const allotment of this.#byKey.values())
      if (allotment.account === account) {
        this.beat().catch(this.#failed);
        return;
      }
  }

  /**
   * Returns all that is unused now, and records the ends of requests that could not be recorded. What requests in
   * progress may cost stays held until they are settled.
   */
  returnUnused(): Promise<void> {
    return this.#mutex.run(async () => {
      for (const allotment of this.#byKey.values()) allotment.close();
      let ends: readonly End[];
      do {
        ends = this.#unrecorded();
        await this.#end(ends, [...this.#byKey.values()]);
      } while (ends.length === BATCH);
    });
  }

  /** As `returnUnused`, and ends the lease. */
  async stop(): Promise<void> {
    const { queries, log } = this.#dependencies;
    await this.#beats.stop();
    // Requests whose allotments were lost may still have ends that could not be recorded.
    if (this.#byKey.size === 0 && this.#running.size === 0) return;
    try {
      await this.returnUnused();
      await endLease(queries, this.processId);
    } catch (error) {
      log.warn({ err: error }, "held money is released when the lease is over");
    }
  }

  async #beat(): Promise<void> {
    await this.#renew();
    await this.#list();
    const nowMs = this.#nowMs();
    const returning: Allotment[] = [];
    for (const allotment of this.#byKey.values()) {
      if (allotment.isIdle(nowMs, IDLE_MS)) allotment.close();
      if (allotment.toReturn()) returning.push(allotment);
      if (returning.length === BATCH) break;
    }
    await this.#end(this.#unrecorded(nowMs), returning);
    if (returning.length === BATCH) this.#wake();
    const isQuiet = this.#byKey.size === 0 && this.#running.size === 0 && !this.#dependencies.hasHolds();
    if (isQuiet && nowMs - this.#usedMs > QUIET_MS) void this.#beats.stop();
  }

  #admitInMemory(request: HoldRequest): bigint | undefined {
    const nowMs = this.#nowMs();
    const allotment = this.#byKey.get(request.keyId);
    if (!allotment || !this.#isLeased(nowMs) || !allotment.admits(request, nowMs)) return undefined;
    this.#begin(request, allotment, request.maximum);
    return request.maximum;
  }

  #begin(request: HoldRequest, allotment: Allotment, granted: bigint): void {
    const sinceMs = this.#nowMs();
    this.#usedMs = sinceMs;
    allotment.reserve(granted, sinceMs);
    const running = { request, allotment, sinceMs, granted, isListed: false, settlement: undefined };
    this.#running.set(request.id, running);
  }

  async #admitAll(waiting: readonly Waiting[]): Promise<readonly Admission[]> {
    // What came back meanwhile may be enough. Those requests have begun, whatever becomes of the others' statement.
    const admissions = waiting.map(({ request, admitted }) => {
      const granted = this.#admitInMemory(request);
      if (granted !== undefined) admitted(granted);
      return granted;
    });
    const rest = waiting.flatMap(({ request }, n) => (admissions[n] === undefined ? [request] : []));
    if (rest.length === 0) return admissions as readonly Admission[];
    this.#dependencies.admissionBatch(rest.length);
    const taken = (await this.#take(rest)).values();
    return admissions.map((admission) => admission ?? (taken.next().value as Admission));
  }

  /**
   * Retries a request that was refused in a batch. The refusal may be too strict: earlier requests of a batch count at
   * their maximum, and money stays reserved for a request whose settlement got no answer.
   */
  async #admitAlone(request: HoldRequest): Promise<Admission> {
    await this.#end(this.#unrecorded());
    return (await this.#take([request]))[0] as Admission;
  }

  async #take(requests: readonly HoldRequest[]): Promise<readonly Admission[]> {
    const { queries, committed } = this.#dependencies;
    const startedMs = this.#begins();
    const needs = new Map<string, KeyNeed>();
    for (const [keyId, ofKey] of Map.groupBy(requests, (request) => request.keyId)) {
      const needed = ofKey.reduce((sum, { maximum }) => sum + maximum, 0n);
      const known = this.#byKey.get(keyId);
      const extra = known?.take(needed) ?? needed;
      needs.set(keyId, { allotmentId: known?.id, reserved: known?.reserved ?? 0n, extra });
    }
    try {
      const answers = await takeAllotments(queries, this.processId, requests, needs);
      for (const keyId of needs.keys()) {
        const n = answers.findIndex(
          ({ granted }, at) => granted !== undefined && requests[at]?.keyId === keyId,
        );
        this.#taken(keyId, answers[n], { startedMs, version: requests[n]?.restrictionsVersion ?? 0 });
      }
      if (answers.some(({ allotment }) => allotment)) committed();
      if (!this.#isLeased(startedMs)) this.#wake();
      return requests.map((request, n) => this.#grant(request, answers[n] as TakeAnswer));
    } catch (error) {
      for (const keyId of needs.keys()) this.#byKey.get(keyId)?.taken(undefined, NO_TERMS);
      throw error;
    }
  }

  /** Begins a statement that may leave an allotment or a hold, which beats find or keep, even if its answer is lost. */
  #begins(): number {
    const nowMs = this.#nowMs();
    this.#usedMs = nowMs;
    if (this.#dependencies.isTimed) this.#beats.start({ isLater: true });
    return nowMs;
  }

  #taken(
    keyId: string,
    answer: TakeAnswer | undefined,
    { startedMs, version }: { startedMs: number; version: number },
  ): void {
    const known = this.#byKey.get(keyId);
    const row = answer?.allotment;
    const isKnown = known !== undefined && known.id === row?.id;
    if (known && row && !isKnown) known.lose();
    if (!row) {
      known?.taken(undefined, NO_TERMS);
      return;
    }
    const allotment = isKnown ? known : new Allotment(row);
    this.#byKey.set(keyId, allotment);
    const { keyLastsMs = Number.POSITIVE_INFINITY, tagBudgetVersion = 0 } = answer ?? {};
    const untilMs = startedMs + keyLastsMs;
    allotment.taken(row, { restrictionsVersion: version, tagBudgetVersion, untilMs });
  }

  #grant(request: HoldRequest, answer: TakeAnswer): Admission {
    const allotment = this.#byKey.get(request.keyId);
    const unused = allotment?.unused ?? 0n;
    const { granted, available, keyAvailable = available } = answer;
    this.#spendable.set(request.keyId, unused + (keyAvailable < available ? keyAvailable : available));
    if (granted === undefined || !allotment) return { answer, unused };
    this.#begin(request, allotment, granted);
    return granted;
  }

  async #settleAll(settlements: readonly Settlement[]): Promise<readonly (bigint | undefined)[]> {
    this.#dependencies.settlementBatch(settlements.length);
    const known = new Map<string, End>();
    for (const settlement of settlements) {
      const running = this.#running.get(settlement.id);
      if (running && !running.settlement) known.set(settlement.id, { running, settlement });
    }
    const charged = await this.#end([...known.values()]);
    return settlements.map((settlement) =>
      known.get(settlement.id)?.settlement === settlement ? charged.get(settlement.id) : undefined,
    );
  }

  /** Records the ends of requests and returns what their allotments, and these others, do not need any more. */
  async #end(
    ends: readonly End[],
    others: readonly Allotment[] = [],
  ): Promise<ReadonlyMap<string, bigint | undefined>> {
    if (ends.length === 0 && returnsAfter([], others).length === 0) return new Map();
    const { queries, committed } = this.#dependencies;
    try {
      const { endings, returns, charged, allotments } = await chargeClaimed(
        queries,
        ends.map(({ settlement }) => settlement),
        (settlements, on) => settleEnds(withSettlements(ends, settlements), others, on),
      );
      committed();
      for (const { running } of endings) {
        running.allotment.release(running.granted);
        this.#running.delete(running.request.id);
      }
      for (const { keyId, allotmentId, isOver } of returns) if (isOver) this.#forget(keyId, allotmentId);
      for (const row of allotments) this.#known(row)?.read(row);
      return new Map(endings.map(({ running }, n) => [running.request.id, charged[n]]));
    } catch (error) {
      // Some of it may have been charged: nothing is admitted in memory until a beat has read what is left.
      this.#lease = NO_LEASE;
      for (const { running, settlement } of ends) running.settlement = repeated(settlement);
      throw error;
    }
  }

  /** Requests whose ends could not be recorded; by a time, also those that their owner has forgotten until then. */
  #unrecorded(nowMs = Number.NEGATIVE_INFINITY): readonly End[] {
    const due: End[] = [];
    for (const running of this.#running.values()) {
      if (due.length === BATCH) break;
      const isForgotten = nowMs - running.sinceMs > 1_000 * running.request.expiresInSeconds;
      const settlement =
        running.settlement ?? (isForgotten ? failedSettlement(running.request.id, "expired") : undefined);
      if (settlement) due.push({ running, settlement });
    }
    return due;
  }

  async #renew(): Promise<void> {
    const first = await this.#readLease();
    // A statement that waited while the allotments of a lease that was over were released still reads them.
    const last = this.#isLeased(this.#nowMs()) ? first : await this.#readLease();
    if (first.isNew || last.isNew)
      for (const { keyId, id } of [...this.#byKey.values()]) this.#forget(keyId, id);
    const rows = new Map(last.allotments.map((row) => [row.id, row]));
    for (const { keyId, id } of [...this.#byKey.values()]) if (!rows.has(id)) this.#forget(keyId, id);
    for (const row of last.allotments) {
      const known = this.#known(row) ?? new Allotment(row);
      known.read(row);
      this.#byKey.set(row.keyId, known);
    }
    this.#isFailing = false;
    this.#lease = last.lease;
  }

  /** Renews the lease, which lasts from before the statement, and reads the allotments. */
  async #readLease() {
    const { queries, clock } = this.#dependencies;
    const lastsMs = 1_000 * LEASE_SECONDS - MARGIN_MS;
    const lease = {
      untilMs: clock.monotonicMs() + lastsMs,
      untilTime: clock.now().getTime() + lastsMs,
    };
    return { lease, ...(await renewLease(queries, this.processId)) };
  }

  async #list(): Promise<void> {
    const nowMs = this.#nowMs();
    const due: Running[] = [];
    for (const running of this.#running.values()) {
      if (nowMs - running.sinceMs < LISTED_AFTER_MS || due.length === BATCH) break;
      if (!running.isListed) due.push(running);
    }
    if (due.length === 0) return;
    await listRunning(
      this.#dependencies.queries,
      due.map(({ request, allotment, sinceMs }) => ({
        request,
        allotmentId: allotment.id,
        ageMs: nowMs - sinceMs,
      })),
    );
    for (const running of due) running.isListed = true;
  }

  #known({ id, keyId }: AllotmentRow): Allotment | undefined {
    const known = this.#byKey.get(keyId);
    return known?.id === id ? known : undefined;
  }

  #forget(keyId: string, id: string): void {
    const known = this.#byKey.get(keyId);
    if (known?.id !== id) return;
    known.lose();
    this.#byKey.delete(keyId);
  }

  /** By both clocks: the monotonic one of some systems stands still while the machine sleeps. */
  #isLeased(nowMs: number): boolean {
    return nowMs < this.#lease.untilMs && this.#dependencies.clock.now().getTime() < this.#lease.untilTime;
  }

  #wake(): void {
    if (this.#dependencies.isTimed) this.beat().catch(this.#failed);
  }

  readonly #failed = (error: unknown): void => {
    if (!this.#isFailing) this.#dependencies.log.warn({ err: error }, "the lease could not be renewed");
    this.#isFailing = true;
  };

  #nowMs(): number {
    return this.#dependencies.clock.monotonicMs();
  }
}

const NO_LEASE = { untilMs: Number.NEGATIVE_INFINITY, untilTime: Number.NEGATIVE_INFINITY };

/** Whether the answer would be the same if the request were alone. */
function isFinal(answer: TakeAnswer, request: HoldRequest): boolean {
  const { granted, key, restrictions } = answer;
  return (
    granted !== undefined ||
    key !== "active" ||
    restrictions !== undefined ||
    hasOtherBudgets(answer, request)
  );
}
