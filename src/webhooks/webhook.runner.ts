import { noticeBudgets } from "../accounts/budgets/budget-notices.store.ts";
import { noticeLimits } from "../accounts/key-limits.store.ts";
import type { Queries } from "../db/database.ts";
import { appendEvents, lastPublished } from "../events/outbox.ts";
import { readSubjectsAfter, type SubjectsWithEvents } from "../events/subject-events.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import {
  accountsFollowing,
  advanceScan,
  type ClaimedWebhook,
  claimWebhooks,
  markPending,
  scannedPosition,
  takeScan,
} from "./delivery-queue.store.ts";
import { DeliveryTurn, type TurnDependencies, type TurnLimits } from "./delivery-turn.ts";
import { LIMIT_TOPICS, topicsOf, WEBHOOK_EVENTS } from "./webhook-events.ts";

/** Overridable in tests. */
export type WebhookTiming = TurnLimits & { readonly pollMs: number };

const TIMING: WebhookTiming = { leaseSeconds: 30, turnMs: 10_000, slowMs: 2_000, pollMs: 1_000 };

/**
 * How many webhooks a process serves at once, of each speed. Receivers that are slow or fail have places of their own,
 * so that they never delay those that answer at once.
 */
const MAX_SERVED = 32;
/** Places of one account, of each speed. */
const MAX_SERVED_PER_ACCOUNT = 4;
/** Events that are matched with webhooks in one transaction. */
const SCANNED = 2_000;
const TOPICS = topicsOf(WEBHOOK_EVENTS);

type Held = { readonly account: string; readonly isSlow: boolean; readonly done: Promise<void> };

/**
 * Delivers events to webhooks, in any number of processes. One at a time matches new events with webhooks, and each
 * webhook is served by one at a time, under a lease: a process that dies or hangs loses it after half a minute, and another
 * one repeats the delivery that was not recorded.
 */
export class WebhookRunner {
  readonly #dependencies: TurnDependencies;
  readonly #timing: WebhookTiming;
  readonly #held = new Map<string, Held>();
  readonly #stopping = new AbortController();
  readonly #task: PeriodicTask;
  #again = false;
  #claiming: Promise<void> | undefined;

  constructor(dependencies: TurnDependencies, timing: Partial<WebhookTiming> = {}) {
    this.#dependencies = dependencies;
    this.#timing = { ...TIMING, ...timing };
    this.#task = new PeriodicTask({
      everyMs: this.#timing.pollMs,
      work: () => this.take(),
      failed: (error) => dependencies.log.error({ err: error }, "webhooks could not be read"),
    });
  }

  /** Matches new events and serves webhooks now, and every second until `stop`, which is final. */
  start(): void {
    this.#task.start();
  }

  /** Matches new events with webhooks, and begins to serve those that are due. */
  async take(): Promise<void> {
    while (await this.#scan());
    await this.#claimAll();
  }

  /** Resolves when no webhook is being served, and none is due. */
  async idle(): Promise<void> {
    while (this.#held.size > 0 || this.#claiming) {
      await this.#claiming?.catch(() => {});
      await Promise.all([...this.#held.values()].map(({ done }) => done));
    }
  }

  /** Aborts deliveries in progress, which another process repeats at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#task.stop();
    await this.#claiming?.catch(() => {});
    await this.idle();
  }

  /** True when more may wait to be matched. */
  async #scan(): Promise<boolean> {
    const { database, clock } = this.#dependencies;
    if (this.#stopping.signal.aborted) return false;
    const newest = await lastPublished(database);
    if ((await scannedPosition(database)) >= newest) return false;
    return database.statements(async (tx) => {
      const scan = await takeScan(tx);
      if (!scan || scan.position >= newest) return false;
      const found = scan.isNeeded
        ? await readSubjectsAfter(tx, scan.position, { topics: TOPICS, limit: SCANNED })
        : undefined;
      if (found) {
        await markPending(tx, found.subjects, clock.now());
        await this.#noticeLimits(tx, found.subjects);
      }
      await advanceScan(tx, found?.upTo ?? newest);
      return found?.isFull ?? false;
    });
  }

  /** Publishes that keys and tags reached their limits, for accounts that spent something and whose webhooks want to know. */
  async #noticeLimits(tx: Queries, subjects: SubjectsWithEvents["subjects"]): Promise<void> {
    const spending = subjects
      .filter(({ topic }) => topic === LIMIT_TOPICS.cause)
      .map(({ subject }) => subject);
    const { key, tag } = LIMIT_TOPICS;
    const keys = await noticeLimits(tx, await accountsFollowing(tx, key, spending));
    const tags = await noticeBudgets(tx, await accountsFollowing(tx, tag, spending));
    if (keys.length + tags.length === 0) return;
    await appendEvents(tx, [
      ...keys.map((data) => ({ topic: key, subject: data.account, data })),
      ...tags.map((data) => ({ topic: tag, subject: data.account, data })),
    ]);
    this.#dependencies.committed();
  }

  /** Claims until every place is taken or nothing is due. */
  #claimAll(): Promise<void> {
    this.#again = true;
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  async #claim(): Promise<void> {
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false;
      for (const isSlow of [false, true]) while (await this.#claimSome(isSlow));
    }
  }

  /** Claims one webhook of each account that has a free place. False when none is due. */
  async #claimSome(isSlow: boolean): Promise<boolean> {
    const { database, clock } = this.#dependencies;
    const held = [...this.#held.values()].filter((one) => one.isSlow === isSlow);
    const limit = MAX_SERVED - held.length;
    if (limit <= 0 || this.#stopping.signal.aborted) return false;
    const counts = new Map<string, number>();
    for (const { account } of held) counts.set(account, (counts.get(account) ?? 0) + 1);
    const busyAccounts = [...counts]
      .filter(([, count]) => count >= MAX_SERVED_PER_ACCOUNT)
      .map(([account]) => account);
    const { leaseSeconds } = this.#timing;
    const query = { isSlow, busyAccounts, limit, leaseSeconds, now: clock.now() };
    const claimed = await claimWebhooks(database, query);
    for (const webhook of claimed) this.#begin(webhook, isSlow);
    return claimed.length > 0;
  }

  #begin(webhook: ClaimedWebhook, isSlow: boolean): void {
    const { log } = this.#dependencies;
    const { id, fence, account } = webhook;
    const key = `${id} ${fence}`;
    const turn = new DeliveryTurn(this.#dependencies, this.#timing, webhook, this.#stopping.signal);
    const done = turn
      .run()
      .catch((error: unknown) =>
        log.error(
          { err: error, webhookId: id },
          "deliveries to a webhook stopped; they resume after its lease",
        ),
      )
      .finally(() => {
        this.#held.delete(key);
        if (!this.#stopping.signal.aborted) void this.#claimAll().catch(() => {});
      });
    this.#held.set(key, { account, isSlow, done });
  }
}
