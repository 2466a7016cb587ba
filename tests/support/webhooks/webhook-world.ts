import type { lookup } from "node:dns";
import type { Database } from "../../../src/db/database.ts";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { EventsService } from "../../../src/events/events.service.ts";
import { appendEvents, type NewEvent } from "../../../src/events/outbox.ts";
import type { EventRelay } from "../../../src/events/relay.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Principal } from "../../../src/keys/auth/principal.ts";
import { ReceiverClient } from "../../../src/webhooks/receiver.client.ts";
import { SigningSecrets } from "../../../src/webhooks/signing.ts";
import { WebhookRunner, type WebhookTiming } from "../../../src/webhooks/webhook.runner.ts";
import type { Webhook } from "../../../src/webhooks/webhook.ts";
import type { NewWebhook } from "../../../src/webhooks/webhook-settings.ts";
import { WebhooksService } from "../../../src/webhooks/webhooks.service.ts";
import { TEST_CURSORS } from "../cursors.ts";
import { startRelay, untilPublished } from "../events.ts";
import { seedAccount } from "../seed.ts";
import { type DatabaseKind, type OnEnd, openTestDatabase } from "../servers/database.ts";

/** A clock that tests move. */
class MovedClock {
  #aheadMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  monotonicMs(): number {
    return performance.now() + this.#aheadMs;
  }

  pass(ms: number): void {
    this.#aheadMs += ms;
  }
}

type Options = {
  readonly allowsPrivate?: boolean;
  readonly timeoutMs?: number;
  readonly resolve?: typeof lookup;
};

/** Webhooks over a separate database. */
export class WebhookWorld {
  readonly database: Database;
  readonly clock = new MovedClock();
  readonly webhooks: WebhooksService;
  readonly events: EventsService;
  readonly #relay: EventRelay;
  readonly #onEnd: OnEnd;
  readonly #secrets = new SigningSecrets("0123456789abcdef".repeat(4));
  readonly #receivers: ReceiverClient;

  private constructor(database: Database, onEnd: OnEnd, options: Options) {
    const { allowsPrivate = true, timeoutMs = 5_000, resolve } = options;
    this.database = database;
    this.#onEnd = onEnd;
    const bus = new MemoryBus();
    this.#relay = startRelay(database, bus);
    this.events = new EventsService(database, bus, TEST_CURSORS);
    this.#receivers = new ReceiverClient({ allowsPrivate, timeoutMs, resolve });
    const { events, clock } = this;
    const receivers = this.#receivers;
    const secrets = this.#secrets;
    this.webhooks = new WebhooksService({ database, events, clock, receivers, secrets, allowsPrivate });
  }

  static async open(kind: DatabaseKind, onEnd: OnEnd, options: Options = {}): Promise<WebhookWorld> {
    return new WebhookWorld(await openTestDatabase(kind, { onEnd }), onEnd, options);
  }

  /** A new account, as the wallet of which it is. */
  async wallet(): Promise<Principal & { readonly account: string }> {
    const { account } = await seedAccount(this.database, 0n);
    await untilPublished(this.database);
    return { kind: "wallet-session", account, sessionId: "none" };
  }

  create(
    principal: Principal,
    url: string,
    more: Partial<NewWebhook> = {},
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    return this.webhooks.create(principal, { name: "test", url, events: ["deposit.credited"], ...more });
  }

  /** A worker, stopped when the test is finished. It works on `take`. */
  worker(timing: Partial<WebhookTiming> = {}): WebhookRunner {
    const { database, clock, events } = this;
    const runner = new WebhookRunner(
      {
        ...{ database, clock, log: createLogger("silent"), observer: undefined },
        receivers: this.#receivers,
        secrets: this.#secrets,
        cursorAt: (position) => events.cursorAt(position),
        committed: () => this.#relay.nudge(),
      },
      timing,
    );
    this.#onEnd(() => runner.stop());
    return runner;
  }

  /** Publishes events. */
  async publish(...events: readonly NewEvent[]): Promise<void> {
    await this.database.transaction((tx) => appendEvents(tx, events));
    this.#relay.nudge();
    await untilPublished(this.database);
  }

  /** Publishes confirmed deposits of these amounts. */
  deposit(account: string, ...amounts: readonly number[]): Promise<void> {
    return this.publish(...amounts.map((amount) => depositOf(account, amount)));
  }
}

/** A confirmed deposit, as its event. */
export function depositOf(account: string, amount: number): NewEvent<"deposit.seen"> {
  const data = {
    account,
    depositId: `deposit-${amount}`,
    amount: String(amount),
    status: "confirmed",
  } as const;
  return { topic: "deposit.seen", subject: account, data };
}

/** Serves everything that is due, until nothing is. */
export async function serve(worker: WebhookRunner): Promise<void> {
  await worker.take();
  await worker.idle();
}
