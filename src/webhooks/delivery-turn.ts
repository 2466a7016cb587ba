import type { Database } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import { readSubjectPage } from "../events/subject-events.ts";
import type { DomainEvent, WebhookFault } from "../events/topics.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";
import {
  type ClaimedWebhook,
  type NewAttempt,
  type Progress,
  recordDelivered,
  recordFailed,
  releaseWebhook,
} from "./delivery-queue.store.ts";
import type { PostResult, ReceiverClient, ReceiverConnection } from "./receiver.client.ts";
import { MAX_FAILING_MS, retryDelayMs } from "./retry-times.ts";
import type { SecretVersion, SigningSecrets } from "./signing.ts";
import { disableWebhook } from "./webhook.store.ts";
import { type Message, readEvent } from "./webhook-events.ts";

export type TurnDependencies = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly receivers: ReceiverClient;
  readonly secrets: SigningSecrets;
  /** The cursor of a position. */
  readonly cursorAt: (position: bigint) => string;
  /** Signals that events were committed. */
  readonly committed: () => void;
  readonly observer: DeliveryObserver | undefined;
};

/** What is counted. */
export type DeliveryObserver = {
  webhookAttempt(outcome: string, durationMs: number): void;
  webhookDisabled(reason: WebhookFault): void;
};

/** How long a turn may take, and how it reads. */
export type TurnLimits = {
  /** A claim ends after this time, unless it is renewed by a delivery. */
  readonly leaseSeconds: number;
  /** No delivery begins later in a turn: others wait. */
  readonly turnMs: number;
  /** A receiver that takes longer is served apart from the others. */
  readonly slowMs: number;
};

/** Events that are read at once. The last one of a full page is delivered with the next page, which must begin with it. */
const PAGE = 101;

/**
 * One turn of a worker at one webhook: delivers the waiting events in their order until none waits, one fails, or the
 * turn is over. An event is delivered before that is recorded, so a worker that dies in between causes a second
 * delivery, never a missing one.
 */
export class DeliveryTurn {
  readonly #dependencies: TurnDependencies;
  readonly #limits: TurnLimits;
  readonly #webhook: ClaimedWebhook;
  readonly #signal: AbortSignal;
  readonly #connection: ReceiverConnection;
  readonly #endsAtMs: number;
  /** What is known to be delivered. */
  #position: bigint;
  #sequence: number;
  #isBelow: boolean;

  /** `signal` aborts when the process stops. */
  constructor(
    dependencies: TurnDependencies,
    limits: TurnLimits,
    webhook: ClaimedWebhook,
    signal: AbortSignal,
  ) {
    this.#dependencies = dependencies;
    this.#limits = limits;
    this.#webhook = webhook;
    this.#signal = signal;
    this.#connection = dependencies.receivers.open(webhook.url);
    this.#endsAtMs = performance.now() + limits.turnMs;
    this.#position = webhook.position;
    this.#sequence = webhook.sequence;
    this.#isBelow = webhook.isBelow;
  }

  async run(): Promise<void> {
    try {
      if (await this.#deliverAll()) await this.#release();
    } finally {
      await this.#connection.close();
    }
  }

  /** False when the lease is over: a delivery failed, or another worker has it. */
  async #deliverAll(): Promise<boolean> {
    const { account, topics } = this.#webhook;
    for (let waiting = this.#webhook.waitingPosition; ; ) {
      const page = await readSubjectPage(
        this.#dependencies.database,
        { topics, subject: account },
        this.#position,
        PAGE,
      );
      const first = page.events[0]?.position;
      if (waiting !== null && (first === undefined || first > waiting)) {
        await this.#disable(this.#hasFailed ? "failing" : "expired");
        return false;
      }
      const events = page.isFull ? page.events.slice(0, -1) : page.events;
      for (const [index, event] of events.entries()) {
        if (this.#isOver()) return true;
        const { message, isBelow } = readEvent(event, { ...this.#webhook, isBelow: this.#isBelow });
        if (message && !(await this.#deliver(event, message, isBelow, page.events[index + 1]))) return false;
        this.#isBelow = isBelow;
        this.#position = event.position;
      }
      waiting = page.events.at(-1)?.position ?? null;
      if (page.isFull) continue;
      // What was pending is delivered, was not wanted, or has expired without having been found as waiting.
      const { pendingPosition } = this.#webhook;
      this.#position = page.upTo > pendingPosition ? page.upTo : pendingPosition;
      return true;
    }
  }

  /** Whether the last attempt failed. */
  get #hasFailed(): boolean {
    return this.#webhook.failures > 0 && this.#sequence === this.#webhook.sequence;
  }

  #isOver(): boolean {
    return this.#signal.aborted || performance.now() > this.#endsAtMs;
  }

  /** Delivers one event. False when the turn is over. */
  async #deliver(
    event: DomainEvent,
    message: Message,
    isBelow: boolean,
    next: DomainEvent | undefined,
  ): Promise<boolean> {
    const { database, observer } = this.#dependencies;
    const { leaseSeconds, slowMs } = this.#limits;
    const at = this.#dependencies.clock.now();
    const sequence = this.#sequence + 1;
    const result = await this.#post(event, message, sequence, at);
    if (this.#signal.aborted && result.failure !== null) {
      await this.#release();
      return false;
    }
    const attempt = { ...result, eventId: event.id, event: message.type, sequence, at };
    observer?.webhookAttempt(result.failure ?? "delivered", result.durationMs);
    if (result.failure !== null) {
      await this.#fail(event, attempt, result);
      return false;
    }
    const progress = { position: event.position, isBelow, waiting: next ?? null };
    const options = { isSlow: result.durationMs > slowMs, leaseSeconds };
    if (!(await recordDelivered(database, this.#webhook, progress, attempt, options))) return false;
    this.#sequence = sequence;
    // One delivery is the turn of a slow receiver, whose place others wait for.
    if (options.isSlow) {
      this.#position = event.position;
      this.#isBelow = isBelow;
      await this.#release();
      return false;
    }
    return true;
  }

  #post(event: DomainEvent, { type, data }: Message, sequence: number, at: Date): Promise<PostResult> {
    const { secrets, cursorAt } = this.#dependencies;
    const body = JSON.stringify({
      type,
      timestamp: event.at.toISOString(),
      sequence,
      cursor: cursorAt(event.position),
      account: this.#webhook.account,
      data,
    });
    const headers = secrets.headersOf({ id: event.id, at, body }, secretVersions(this.#webhook, at));
    return this.#connection.post({ headers, body }, this.#signal);
  }

  async #fail(event: DomainEvent, attempt: NewAttempt, { status, retryAfterMs }: PostResult): Promise<void> {
    const { database } = this.#dependencies;
    const { failures, firstFailedAt } = this.#webhook;
    const isFirst = this.#sequence > this.#webhook.sequence || firstFailedAt === null;
    const failedSinceMs = isFirst ? attempt.at.getTime() : firstFailedAt.getTime();
    const delayMs = retryDelayMs(isFirst ? 1 : failures + 1, retryAfterMs, Math.random());
    const nextAttemptAt = new Date(attempt.at.getTime() + delayMs);
    const progress: Progress = { position: this.#position, isBelow: this.#isBelow, waiting: event };
    if (!(await recordFailed(database, this.#webhook, progress, attempt, nextAttemptAt))) return;
    if (status === GONE) await this.#disable("gone");
    else if (attempt.at.getTime() - failedSinceMs >= MAX_FAILING_MS) await this.#disable("failing");
  }

  /** Stops deliveries, and gives notice: an event for the account, and a line in the log. */
  async #disable(reason: WebhookFault): Promise<void> {
    const { database, clock, log, committed, observer } = this.#dependencies;
    const { id, fence, account, name } = this.#webhook;
    const isDisabled = await database.statements(async (tx) => {
      if (!(await disableWebhook(tx, { id, fence }, reason, clock.now()))) return false;
      const data = { account, webhookId: id, name, reason };
      await appendEvents(tx, [{ topic: "webhook.disabled", subject: account, data }]);
      return true;
    });
    if (!isDisabled) return;
    committed();
    observer?.webhookDisabled(reason);
    log.warn({ webhookId: id, account, reason }, "a webhook was disabled");
  }

  #release(): Promise<void> {
    const { database, clock } = this.#dependencies;
    const progress = { position: this.#position, isBelow: this.#isBelow };
    return releaseWebhook(database, this.#webhook, progress, clock.now());
  }
}

const GONE = 410;

/** The secrets that sign a delivery: the current one, and the previous one while it is accepted. */
export function secretVersions(
  {
    id,
    secretVersion: version,
    previousSecretUntil,
  }: {
    readonly id: string;
    readonly secretVersion: number;
    readonly previousSecretUntil: Date | null;
  },
  at: Date,
): readonly SecretVersion[] {
  const isRotating = previousSecretUntil !== null && at < previousSecretUntil;
  return isRotating
    ? [
        { id, version },
        { id, version: version - 1 },
      ]
    : [{ id, version }];
}
