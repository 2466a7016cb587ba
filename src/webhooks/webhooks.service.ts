import { openAccount } from "../accounts/ledger.store.ts";
import type { Database, Queries } from "../db/database.ts";
import type { EventsService } from "../events/events.service.ts";
import { KEPT_HOURS, lastPublished } from "../events/outbox.ts";
import { forgottenPosition } from "../events/subject-events.ts";
import type { Clock } from "../kernel/clock.ts";
import { AppError } from "../kernel/errors.ts";
import { invalidCursor } from "../kernel/page.ts";
import { isId, newId } from "../kernel/text/ids.ts";
import { permit } from "../keys/auth/permissions.ts";
import type { Principal } from "../keys/auth/principal.ts";
import { secretVersions } from "./delivery-turn.ts";
import type { ReceiverClient } from "./receiver.client.ts";
import type { SigningSecrets } from "./signing.ts";
import {
  advanceSecret,
  catchUp,
  deleteWebhook,
  disableWebhook,
  findWebhook,
  insertWebhook,
  listAttempts,
  listWebhooks,
  lockScan,
  lockWebhook,
  resumeAt,
  type StoredWebhook,
  updateSettings,
} from "./webhook.store.ts";
import { type DeliveryResult, MAX_WEBHOOKS, type Webhook, type WebhookAttempt } from "./webhook.ts";
import { TEST_EVENT } from "./webhook-events.ts";
import { accountOfWebhook, readWebhookHealth, type WebhookHealth } from "./webhook-health.store.ts";
import {
  checkSettings,
  invalid,
  type NewWebhook,
  permitEvents,
  type WebhookChange,
  withoutUndefined,
} from "./webhook-settings.ts";

type Dependencies = {
  readonly database: Database;
  readonly events: EventsService;
  readonly clock: Clock;
  readonly receivers: ReceiverClient;
  readonly secrets: SigningSecrets;
  /** Whether receivers may have private addresses and use http. */
  readonly allowsPrivate: boolean;
};

/** How long deliveries are also signed with the previous secret. */
export const ROTATION_HOURS = 24;
/** Test deliveries in progress: in this process, and of one account, whose receivers may be slow. */
const MAX_TESTS = { all: 16, ofAccount: 4 } as const;

/**
 * The webhooks of accounts. A caller may create, change, stop or delete a webhook only if it may read every event of it:
 * it learns no more than by a subscription, and cannot silence or forge what watches it.
 */
export class WebhooksService {
  readonly #dependencies: Dependencies;
  /** The accounts of the test deliveries in progress. */
  readonly #tests: string[] = [];

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The webhooks of an account, oldest first. */
  list(account: string): Promise<readonly Webhook[]> {
    return listWebhooks(this.#dependencies.database, account);
  }

  /** A webhook of the account; undefined if it has none with this id. */
  async find(account: string, id: string): Promise<Webhook | undefined> {
    return isId(id) ? findWebhook(this.#dependencies.database, account, id) : undefined;
  }

  /** A webhook of the account. Throws `webhook_not_found`. */
  async get(account: string, id: string): Promise<Webhook> {
    return found(await this.find(account, id));
  }

  /** The last attempts to deliver to a webhook, newest first. Throws `webhook_not_found`. */
  async attempts(account: string, id: string): Promise<readonly WebhookAttempt[]> {
    await this.get(account, id);
    const [attempts = []] = await this.attemptsOf([id]);
    return attempts;
  }

  /** The last attempts of each of these webhooks, which the caller may read, newest first. */
  async attemptsOf(ids: readonly string[]): Promise<readonly (readonly WebhookAttempt[])[]> {
    const attempts = await listAttempts(this.#dependencies.database, ids);
    return ids.map((id) => attempts.filter(({ webhookId }) => webhookId === id.toLowerCase()));
  }

  /** The cursor after the last event that was delivered, or did not concern the webhook. */
  cursorOf({ position }: Webhook): string {
    return this.#dependencies.events.cursorAt(position);
  }

  /**
   * Creates a webhook that receives events from now on. Its signing secret is also returned by a rotation only. Throws
   * `invalid_parameter` for an invalid setting, `insufficient_scope` for an event that the caller may not read, and
   * `webhook_limit_reached`.
   */
  async create(
    principal: Principal,
    input: NewWebhook,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    const { account } = permit(principal, "webhook.manage");
    const settings = checkSettings(
      principal,
      { balanceThreshold: null, ...withoutUndefined(input) },
      this.#dependencies,
    );
    const { database, clock, secrets } = this.#dependencies;
    const id = newId();
    const webhook = await database.statements(async (tx) => {
      await openAccount(tx, account);
      // Also serialises the creations, so that the count is exact.
      const position = await lockScan(tx);
      if ((await listWebhooks(tx, account)).length >= MAX_WEBHOOKS)
        throw new AppError(
          "webhook_limit_reached",
          `An account may have at most ${MAX_WEBHOOKS} webhooks. Delete one first.`,
        );
      await insertWebhook(tx, { ...settings, id, account, position }, clock.now());
      return found(await findWebhook(tx, account, id));
    });
    return { webhook, secret: secrets.show({ id, version: webhook.secretVersion }) };
  }

  /**
   * Changes a webhook. One that is enabled again resumes after the last delivered event; if events have expired since,
   * its sequence skips a number. Throws what `create` throws, and `webhook_not_found`.
   */
  update(principal: Principal, id: string, change: WebhookChange): Promise<Webhook> {
    const { account } = permit(principal, "webhook.manage");
    return this.#change(account, id, async (tx, webhook) => {
      permitEvents(principal, webhook);
      const { isEnabled, ...settings } = withoutUndefined(change);
      const now = this.#dependencies.clock.now();
      if (isEnabled === false) await disableWebhook(tx, { id }, "owner", now);
      if (isEnabled === false && Object.keys(settings).length === 0) return;
      const checked = checkSettings(principal, { ...webhook, ...settings }, this.#dependencies);
      await updateSettings(tx, id, checked, now);
      if (isEnabled === true && webhook.status === "disabled")
        await resume(tx, { ...webhook, topics: checked.topics }, now);
    });
  }

  /** The state of the webhooks of all accounts: for operators, who do not see their whole URLs. */
  health(): Promise<WebhookHealth> {
    return readWebhookHealth(this.#dependencies.database);
  }

  /**
   * Enables a webhook of any account that was disabled because of its receiver, as its owner could: for operators.
   * Throws `webhook_not_found`, and `invalid_parameter` if it is enabled or its owner disabled it.
   */
  async enableFaulty(id: string): Promise<void> {
    const { database, clock } = this.#dependencies;
    const account = isId(id) ? await accountOfWebhook(database, id) : undefined;
    if (account === undefined) throw notFound();
    await this.#change(account, id, async (tx, webhook) => {
      if (webhook.status !== "disabled") throw invalid("id", "This webhook is not disabled.");
      if (webhook.disabledReason === "owner") throw invalid("id", "This webhook was disabled by its owner.");
      await resume(tx, webhook, clock.now());
    });
  }

  /**
   * Delivers again, with new sequence numbers and the same ids, what follows a cursor, and enables the webhook. Throws
   * `webhook_not_found`, `insufficient_scope` for an event that the caller may not read, `invalid_cursor`, and
   * `cursor_expired` when events after it were deleted.
   */
  replay(principal: Principal, id: string, after: string): Promise<Webhook> {
    const { account } = permit(principal, "webhook.manage");
    return this.#change(account, id, async (tx, webhook) => {
      permitEvents(principal, webhook);
      const position = this.#dependencies.events.positionOf(after);
      const newest = await lastPublished(tx);
      if (position > newest) throw invalidCursor();
      if (position < (await forgottenPosition(tx, webhook.topics)))
        throw new AppError(
          "cursor_expired",
          `Events are retained for ${KEPT_HOURS} h; this cursor is older.`,
          { param: "after" },
        );
      await resumeAt(
        tx,
        id,
        { position, sequence: webhook.sequence },
        newest,
        this.#dependencies.clock.now(),
      );
    });
  }

  /**
   * Replaces the signing secret; for 24 h deliveries are signed with both. Throws `webhook_not_found`, and
   * `insufficient_scope` for an event that the caller may not read: the secret suffices to forge it.
   */
  async rotateSecret(
    principal: Principal,
    id: string,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    const { account } = permit(principal, "webhook.manage");
    permitEvents(principal, await this.get(account, id));
    const { database, clock, secrets } = this.#dependencies;
    const until = new Date(clock.now().getTime() + ROTATION_HOURS * 3_600_000);
    const version = isId(id) ? await advanceSecret(database, account, id, until) : undefined;
    if (version === undefined) throw notFound();
    return { webhook: await this.get(account, id), secret: secrets.show({ id: id.toLowerCase(), version }) };
  }

  /** Deletes a webhook. Throws what `rotateSecret` throws. */
  async delete(principal: Principal, id: string): Promise<void> {
    const { account } = permit(principal, "webhook.manage");
    permitEvents(principal, await this.get(account, id));
    if (!isId(id) || !(await deleteWebhook(this.#dependencies.database, account, id))) throw notFound();
  }

  /**
   * Delivers a `webhook.test` event at once, also to a disabled webhook; it has no sequence and no cursor. Work stops
   * when `signal` aborts. Throws `webhook_not_found`, and `overloaded` if too many tests are in progress.
   */
  async test(principal: Principal, id: string, signal?: AbortSignal): Promise<DeliveryResult> {
    const { account } = permit(principal, "webhook.manage");
    const own = this.#tests.filter((other) => other === account);
    if (this.#tests.length >= MAX_TESTS.all || own.length >= MAX_TESTS.ofAccount)
      throw new AppError("overloaded", "Too many test deliveries are in progress.");
    this.#tests.push(account);
    try {
      const { database, receivers } = this.#dependencies;
      const webhook = found(isId(id) ? await findWebhook(database, account, id) : undefined);
      const connection = receivers.open(webhook.url);
      try {
        const { status, failure, durationMs } = await connection.post(this.#testDelivery(webhook), signal);
        return { status, failure, durationMs };
      } finally {
        await connection.close();
      }
    } finally {
      this.#tests.splice(this.#tests.indexOf(account), 1);
    }
  }

  #testDelivery(webhook: StoredWebhook) {
    const { clock, secrets } = this.#dependencies;
    const at = clock.now();
    const body = JSON.stringify({
      type: TEST_EVENT,
      timestamp: at.toISOString(),
      sequence: null,
      cursor: null,
      account: webhook.account,
      data: { webhook_id: webhook.id },
    });
    const headers = secrets.headersOf({ id: newId(), at, body }, secretVersions(webhook, at));
    return { headers, body };
  }

  /** Changes a webhook in one transaction, while no event is matched with it. */
  async #change(
    account: string,
    id: string,
    work: (tx: Queries, webhook: StoredWebhook) => Promise<void>,
  ): Promise<Webhook> {
    if (!isId(id)) throw notFound();
    return this.#dependencies.database.statements(async (tx) => {
      await catchUp(tx, account, id, await lockScan(tx));
      await work(tx, found(await lockWebhook(tx, account, id)));
      return found(await findWebhook(tx, account, id));
    });
  }
}

/** Resumes a disabled webhook after the last delivered event, or at the oldest one that is still stored. */
async function resume(tx: Queries, webhook: StoredWebhook, now: Date): Promise<void> {
  const oldest = await forgottenPosition(tx, webhook.topics);
  const isCut = webhook.position < oldest;
  const point = {
    position: isCut ? oldest : webhook.position,
    sequence: webhook.sequence + (isCut ? 1 : 0),
  };
  await resumeAt(tx, webhook.id, point, await lastPublished(tx), now);
}

function found<T>(webhook: T | undefined): T {
  if (!webhook) throw notFound();
  return webhook;
}

function notFound(): AppError {
  return new AppError("webhook_not_found", "There is no such webhook.");
}
