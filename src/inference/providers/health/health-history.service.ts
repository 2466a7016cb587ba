import QuickLru from "quick-lru";
import type { Queries } from "../../../db/database.ts";
import { PeriodicTask } from "../../../kernel/async/periodic-task.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { latencyBinOf } from "../../../kernel/latency-bins.ts";
import type { Logger } from "../../../kernel/log.ts";
import { type Offer, offerOf } from "../offer.ts";
import type { Provider } from "../provider.ts";
import type { HealthObserver } from "./health.service.ts";
import {
  addHours,
  deleteHours,
  type FailingHour,
  type HealthPoint,
  type ProviderHour,
  readFailingHours,
  readPoints,
} from "./health-history.store.ts";

export type { HealthPoint } from "./health-history.store.ts";

type Dependencies = { readonly queries: Queries; readonly clock: Clock; readonly log: Logger };

/** Points of a history: of each hour of the last 7 days, or of each day of the last 30. */
export type HealthGrain = "hour" | "day";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS: Readonly<Record<HealthGrain, number>> = { hour: 7, day: 30 };
const KEPT_DAYS = 30;
const EVERY_MS = 60_000;
/** So many provider hours are held until they are stored; what is observed of further ones is not counted. */
const MAX_HELD = 10_000;
const STEP = 1_000;
const FRESH_MS = 30_000;
/** At most 168 points each. */
const MAX_READS = 1_000;

type Read = { readonly atMs: number; readonly points: readonly HealthPoint[] };

/**
 * Keeps what this process observes of providers by the hour, for 30 days: it adds to the rows of all processes once a
 * minute. If a process is killed, what it has not stored yet is lost.
 */
export class HealthHistoryService implements HealthObserver {
  readonly #dependencies: Dependencies;
  readonly #held = new Map<string, ProviderHour>();
  /** Those of `#held` that were looked up last: building their keys costs 1 µs of each request. */
  #recent = new WeakMap<Provider, ProviderHour>();
  readonly #reads = new QuickLru<string, Read>({ maxSize: MAX_READS });
  #deletedAtHour = 0;
  readonly #task: PeriodicTask;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#task = new PeriodicTask({
      everyMs: EVERY_MS,
      work: () => this.flush(),
      failed: (error) => dependencies.log.warn({ err: error }, "storing the health of providers failed"),
    });
  }

  firstByte(provider: Provider, ms: number): void {
    const hour = this.#hourOf(provider);
    if (!hour) return;
    const bin = latencyBinOf(ms);
    while (hour.bins.length <= bin) hour.bins.push(0);
    hour.bins[bin] = (hour.bins[bin] ?? 0) + 1;
    hour.firstBytes++;
    hour.firstByteMs += ms;
  }

  ended(provider: Provider, isAnswered: boolean): void {
    const hour = this.#hourOf(provider);
    if (!hour) return;
    hour.requests++;
    if (!isAnswered) hour.failures++;
  }

  /**
   * The history of each provider's model, oldest first, up to 90 s late, because it is stored every minute. Anyone may
   * read it, so a result is reused for half a minute.
   */
  of(providers: readonly Provider[], grain: HealthGrain): Promise<readonly (readonly HealthPoint[])[]> {
    return this.#read(
      providers.map((provider) => [provider]),
      grain,
    );
  }

  /** The last 30 days of each group of providers as one point; undefined without requests. As late as `of`. */
  async recent(groups: readonly (readonly Provider[])[]): Promise<readonly (HealthPoint | undefined)[]> {
    const found = await this.#read(groups, "total");
    return found.map(([point]) => point);
  }

  /** The hours of the last 30 days in which these providers failed most requests, at most 2,000. As late as `of`. */
  failingHours(providers: readonly Provider[]): Promise<readonly FailingHour[]> {
    return readFailingHours(this.#dependencies.queries, providers.map(offerOf), this.#startOf("day"));
  }

  /** Stores what is held, and once an hour deletes what is older than 30 days. What fails to be stored is held on. */
  async flush(): Promise<void> {
    const { queries, clock } = this.#dependencies;
    const held = [...this.#held];
    for (let at = 0; at < held.length; at += STEP) {
      const step = held.slice(at, at + STEP);
      for (const [key] of step) this.#held.delete(key);
      this.#recent = new WeakMap();
      try {
        await addHours(
          queries,
          step.map(([, hour]) => hour),
        );
      } catch (error) {
        for (const [key, hour] of step) this.#hold(key, hour);
        throw error;
      }
    }
    const thisHour = Math.floor(clock.now().getTime() / HOUR_MS);
    if (thisHour === this.#deletedAtHour) return;
    const before = new Date(thisHour * HOUR_MS - KEPT_DAYS * DAY_MS);
    while ((await deleteHours(queries, before, STEP)) === STEP);
    this.#deletedAtHour = thisHour;
  }

  /** Stores every minute until `stop`, which stores what is left. */
  start(): void {
    this.#task.start({ isLater: true });
  }

  async stop(): Promise<void> {
    await this.#task.stop();
    await this.#task.run();
  }

  /** The points of each group: those that were read recently, and the others by one statement, each once. */
  async #read(
    groups: readonly (readonly Provider[])[],
    grain: HealthGrain | "total",
  ): Promise<readonly (readonly HealthPoint[])[]> {
    const nowMs = this.#dependencies.clock.monotonicMs();
    const known = new Map<string, readonly HealthPoint[]>();
    const missing = new Map<string, readonly Offer[]>();
    const keys = groups.map((providers) => {
      const offers = providers.map(offerOf);
      const key = `${grain} ${JSON.stringify(offers)}`;
      const read = this.#reads.get(key);
      if (read && nowMs - read.atMs < FRESH_MS) known.set(key, read.points);
      else missing.set(key, offers);
      return key;
    });
    if (missing.size > 0) {
      const options = { grain, from: this.#startOf(grain) };
      const found = await readPoints(this.#dependencies.queries, [...missing.values()], options);
      for (const [n, key] of [...missing.keys()].entries()) {
        const points = found[n] ?? [];
        known.set(key, points);
        this.#reads.set(key, { atMs: nowMs, points });
      }
    }
    return keys.map((key) => known.get(key) ?? []);
  }

  #startOf(grain: HealthGrain | "total"): Date {
    const periodMs = grain === "hour" ? HOUR_MS : DAY_MS;
    const next = (Math.floor(this.#dependencies.clock.now().getTime() / periodMs) + 1) * periodMs;
    return new Date(next - DAYS[grain === "hour" ? "hour" : "day"] * DAY_MS);
  }

  #hourOf(provider: Provider): ProviderHour | undefined {
    const nowMs = this.#dependencies.clock.now().getTime();
    const recent = this.#recent.get(provider);
    if (recent && nowMs - recent.startsAt.getTime() < HOUR_MS) return recent;
    const startsAtMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    const key = `${startsAtMs} ${provider.address} ${provider.model}`;
    const hour = this.#held.get(key) ?? this.#begin(key, provider, startsAtMs);
    if (hour) this.#recent.set(provider, hour);
    return hour;
  }

  #begin(key: string, provider: Provider, startsAtMs: number): ProviderHour | undefined {
    if (this.#held.size >= MAX_HELD) return undefined;
    const made = {
      ...offerOf(provider),
      startsAt: new Date(startsAtMs),
      ...{ requests: 0, failures: 0, firstBytes: 0, firstByteMs: 0, bins: [] },
    };
    this.#held.set(key, made);
    return made;
  }

  /** Holds an hour again that was not stored, with what was observed meanwhile. */
  #hold(key: string, hour: ProviderHour): void {
    const newer = this.#held.get(key);
    if (newer) {
      hour.requests += newer.requests;
      hour.failures += newer.failures;
      hour.firstBytes += newer.firstBytes;
      hour.firstByteMs += newer.firstByteMs;
      for (const [bin, count] of newer.bins.entries()) hour.bins[bin] = (hour.bins[bin] ?? 0) + count;
    } else if (this.#held.size >= MAX_HELD) return;
    this.#held.set(key, hour);
    this.#recent = new WeakMap();
  }
}
