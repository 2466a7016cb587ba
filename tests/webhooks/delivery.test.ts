// @module-tag large
import { expect, onTestFinished, test } from "vitest";
import { TagBudgetsService } from "../../src/accounts/budgets/tag-budgets.service.ts";
import type { NewEvent } from "../../src/events/outbox.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { MAX_FAILING_MS } from "../../src/webhooks/retry-times.ts";
import type { WebhookChange } from "../../src/webhooks/webhook-settings.ts";
import { untilPublished } from "../support/events.ts";
import { describeDatabases, type OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";
import { accept, answerWith, type Receiver, startReceiver, verify } from "../support/webhooks/receiver.ts";
import { depositOf, serve, WebhookWorld } from "../support/webhooks/webhook-world.ts";

const onEnd = onTestFinished as OnEnd;
const MINUTE = 60_000;

const amountsOf = ({ received }: Receiver) => received.map(({ payload }) => Number(payload.data.amount));
const sequencesOf = ({ received }: Receiver) => received.map(({ payload }) => payload.sequence);

const LOW_BALANCE = { events: ["balance.low"], balanceThreshold: 100n } as const;

/** The changes of an account's balance, as their events. */
const balancesOf =
  (account: string) =>
  (deposit: number, held = 0): NewEvent<"balance.changed"> => ({
    topic: "balance.changed",
    subject: account,
    data: {
      account,
      cause: "settlement",
      deposit: String(deposit),
      credit: "0",
      held: String(held),
      requestId: null,
    },
  });

describeDatabases("webhook delivery", (kind) => {
  test("events are delivered once, in order and numbered, signed so that the official library accepts them", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook, secret } = await world.create(wallet, receiver.url);
    await world.deposit(wallet.account, 1, 2, 3);
    const worker = world.worker();
    await serve(worker);
    await world.deposit(wallet.account, 4);
    await serve(worker);
    await serve(worker);
    expect(amountsOf(receiver)).toEqual([1, 2, 3, 4]);
    expect(sequencesOf(receiver)).toEqual([1, 2, 3, 4]);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(4);
    for (const delivery of receiver.received) verify(delivery, secret);
    const [first] = receiver.received;
    expect(first?.payload).toEqual({
      type: "deposit.credited",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      sequence: 1,
      cursor: expect.any(String),
      account: wallet.account,
      data: { deposit_id: "deposit-1", amount: "1", status: "confirmed" },
    });
    const now = await world.webhooks.get(wallet.account, webhook.id);
    expect(now).toMatchObject({ status: "active", sequence: 4, failures: 0 });
    expect(world.webhooks.cursorOf(now)).toBe(receiver.received[3]?.payload.cursor);
  });

  test("a receiver that is down for an hour gets every event once it is back, in order, and first the one it missed", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd, answerWith(503));
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    const worker = world.worker();
    for (let minute = 0; minute < 60; minute++) {
      await world.deposit(wallet.account, minute);
      await serve(worker);
      world.clock.pass(MINUTE);
    }
    expect(new Set(amountsOf(receiver))).toEqual(new Set([0]));
    // 5 s doubled to 15 minutes: few attempts in an hour.
    expect(receiver.received.length).toBeGreaterThan(5);
    expect(receiver.received.length).toBeLessThan(14);
    const down = await world.webhooks.get(wallet.account, webhook.id);
    expect(down).toMatchObject({ status: "failing", failures: receiver.received.length, sequence: 0 });
    receiver.received.length = 0;
    receiver.answer = accept;
    world.clock.pass(20 * MINUTE);
    await serve(worker);
    expect(amountsOf(receiver)).toEqual(Array.from({ length: 60 }, (_, minute) => minute));
    expect(sequencesOf(receiver)).toEqual(Array.from({ length: 60 }, (_, minute) => minute + 1));
    expect(await world.webhooks.get(wallet.account, webhook.id)).toMatchObject({
      status: "active",
      failures: 0,
      firstFailedAt: null,
      nextAttemptAt: null,
    });
  });

  test("a webhook whose receiver fails for 24 hours is disabled, and its account's other webhooks receive an event", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const [broken, watcher] = [await startReceiver(onEnd, answerWith(500)), await startReceiver(onEnd)];
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, broken.url, {
      events: ["deposit.credited", "webhook.disabled"],
    });
    await world.create(wallet, watcher.url, { events: ["webhook.disabled"] });
    await world.deposit(wallet.account, 1);
    const worker = world.worker();
    for (let passed = 0; passed <= MAX_FAILING_MS + 20 * MINUTE; passed += 10 * MINUTE) {
      await serve(worker);
      if (passed < MAX_FAILING_MS)
        expect((await world.webhooks.get(wallet.account, webhook.id)).status).toBe("failing");
      world.clock.pass(10 * MINUTE);
    }
    expect(await world.webhooks.get(wallet.account, webhook.id)).toMatchObject({
      status: "disabled",
      disabledReason: "failing",
    });
    await until(async () => {
      await serve(worker);
      return watcher.received.length > 0;
    });
    expect(watcher.received.map(({ payload }) => payload.data)).toEqual([
      { webhook_id: webhook.id, name: "test", reason: "failing" },
    ]);
    const attempts = broken.received.length;
    await world.deposit(wallet.account, 2);
    world.clock.pass(MAX_FAILING_MS);
    await serve(worker);
    expect(broken.received).toHaveLength(attempts);
    broken.answer = accept;
    broken.received.length = 0;
    await world.webhooks.update(wallet, webhook.id, { isEnabled: true });
    await serve(worker);
    expect(amountsOf(broken)).toEqual([1, 2]);
    expect(sequencesOf(broken)).toEqual([1, 2]);
  });

  test("410 Gone disables a webhook at once, and a retry waits for Retry-After", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd, answerWith(429, { "retry-after": "1800" }));
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    await world.deposit(wallet.account, 1);
    const worker = world.worker();
    await serve(worker);
    world.clock.pass(29 * MINUTE);
    await serve(worker);
    expect(receiver.received).toHaveLength(1);
    receiver.answer = answerWith(410);
    world.clock.pass(2 * MINUTE);
    await serve(worker);
    expect(receiver.received).toHaveLength(2);
    expect(await world.webhooks.get(wallet.account, webhook.id)).toMatchObject({
      status: "disabled",
      disabledReason: "gone",
    });
    const attempts = await world.webhooks.attempts(wallet.account, webhook.id);
    expect(attempts.map(({ status, failure }) => [status, failure])).toEqual([
      [410, "refused"],
      [429, "refused"],
    ]);
  });

  test("an event that expired before it was delivered disables the webhook, and its sequence has a gap afterwards", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd, answerWith(500));
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    const worker = world.worker();
    await world.deposit(wallet.account, 1);
    await serve(worker);
    await world.deposit(wallet.account, 2);
    await expireOldest(world, 1);
    receiver.answer = accept;
    receiver.received.length = 0;
    world.clock.pass(MINUTE);
    await serve(worker);
    expect(receiver.received).toEqual([]);
    expect(await world.webhooks.get(wallet.account, webhook.id)).toMatchObject({ status: "disabled" });
    await world.webhooks.update(wallet, webhook.id, { isEnabled: true });
    await serve(worker);
    expect(amountsOf(receiver)).toEqual([2]);
    expect(sequencesOf(receiver)).toEqual([2]);
  });

  test("a webhook without events of its own skips no number when it is enabled again, though those of others expired", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const [wallet, other] = [await world.wallet(), await world.wallet()];
    const { webhook } = await world.create(wallet, receiver.url);
    const worker = world.worker();
    await world.deposit(other.account, 1, 2);
    await serve(worker);
    await world.webhooks.update(wallet, webhook.id, { isEnabled: false });
    await expireOldest(world, 2);
    await world.webhooks.update(wallet, webhook.id, { isEnabled: true });
    await world.deposit(wallet.account, 3);
    await serve(worker);
    expect(amountsOf(receiver)).toEqual([3]);
    expect(sequencesOf(receiver)).toEqual([1]);
  });

  test("an event that is added to a webhook is delivered from then on", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url, { events: ["sealed_key.published"] });
    const worker = world.worker();
    await world.deposit(wallet.account, 1);
    await serve(worker);
    await world.webhooks.update(wallet, webhook.id, { events: ["deposit.credited"] });
    await world.deposit(wallet.account, 2);
    await serve(worker);
    expect(amountsOf(receiver)).toEqual([2]);
  });

  test("events that expire while earlier ones are delivered disable the webhook as well: none is skipped unnoticed", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    const amounts = Array.from({ length: 150 }, (_, index) => index + 1);
    await world.deposit(wallet.account, ...amounts);
    const expired = 120;
    receiver.answer = (received, response) => {
      if (received.payload.sequence !== 100) return accept(received, response);
      void expireOldest(world, expired).then(() => accept(received, response));
    };
    await serve(world.worker());
    expect(amountsOf(receiver)).toEqual(amounts.slice(0, 100));
    expect(await world.webhooks.get(wallet.account, webhook.id)).toMatchObject({
      status: "disabled",
      disabledReason: "expired",
    });
    receiver.received.length = 0;
    receiver.answer = accept;
    await world.webhooks.update(wallet, webhook.id, { isEnabled: true });
    await serve(world.worker());
    expect(amountsOf(receiver)).toEqual(amounts.slice(expired));
    expect(sequencesOf(receiver)[0]).toBe(102);
  });

  test("a worker that dies after a delivery causes a second one with the same id and number, and nothing is missing", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    await world.deposit(wallet.account, 1, 2, 3);
    const dying = world.worker();
    // The second delivery arrives, and its worker has lost its lease when it records that.
    receiver.answer = (received, response) => {
      if (received.payload.sequence !== 2 || receiver.received.length > 2) return accept(received, response);
      void world.database
        .rows("update webhook set fence = fence + 1, leased_until = null where id = $1::uuid", [webhook.id])
        .then(() => accept(received, response));
    };
    await serve(dying);
    await serve(world.worker());
    expect(amountsOf(receiver)).toEqual([1, 2, 2, 3]);
    expect(sequencesOf(receiver)).toEqual([1, 2, 2, 3]);
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(ids[1]).toBe(ids[2]);
    expect(new Set(ids).size).toBe(3);
  });

  test("of many workers one at a time serves a webhook: no event is delivered twice or out of order", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const wallet = await world.wallet();
    const receivers = await Promise.all([startReceiver(onEnd), startReceiver(onEnd), startReceiver(onEnd)]);
    for (const { url } of receivers) await world.create(wallet, url);
    const workers = Array.from({ length: 4 }, () => world.worker());
    const amounts = Array.from({ length: 40 }, (_, index) => index);
    for (let from = 0; from < amounts.length; from += 8) {
      await world.deposit(wallet.account, ...amounts.slice(from, from + 8));
      await Promise.all(workers.map(serve));
    }
    await Promise.all(workers.map(serve));
    for (const receiver of receivers) expect(amountsOf(receiver)).toEqual(amounts);
  });

  test("slow receivers of one account delay no other account", async () => {
    const world = await WebhookWorld.open(kind, onEnd, { timeoutMs: 60_000 });
    const slow = await startReceiver(onEnd, () => {});
    const fast = await startReceiver(onEnd);
    const [one, other] = [await world.wallet(), await world.wallet()];
    for (let n = 0; n < 10; n++) await world.create(one, slow.url);
    await world.create(other, fast.url);
    const worker = world.worker();
    await world.deposit(one.account, 1);
    await worker.take();
    await until(() => slow.received.length > 0);
    await world.deposit(other.account, 1, 2);
    await worker.take();
    await until(() => fast.received.length === 2);
    expect(slow.received.length).toBeLessThanOrEqual(4);
    await worker.stop();
  });

  test("a receiver that never answers is timed out, and one that answers without end has the event", async () => {
    const world = await WebhookWorld.open(kind, onEnd, { timeoutMs: 300 });
    const silent = await startReceiver(onEnd, () => {});
    const endless = await startReceiver(onEnd, (_received, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("x".repeat(1_000)), 5);
      response.on("close", () => clearInterval(timer));
    });
    const open = await startReceiver(
      onEnd,
      (_received, response) => void response.writeHead(200).flushHeaders(),
    );
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, silent.url);
    const { webhook: second } = await world.create(wallet, endless.url);
    const { webhook: third } = await world.create(wallet, open.url);
    await world.deposit(wallet.account, 1);
    await serve(world.worker());
    expect(await world.webhooks.attempts(wallet.account, third.id)).toMatchObject([
      { failure: null, status: 200 },
    ]);
    const [timedOut] = await world.webhooks.attempts(wallet.account, webhook.id);
    expect(timedOut).toMatchObject({ failure: "timed_out", status: null });
    const attempts = await world.webhooks.attempts(wallet.account, second.id);
    expect(attempts).toMatchObject([{ failure: null, status: 200 }]);
  });

  test("only the events that a webhook chose arrive, and only those of its account", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const [wallet, other] = [await world.wallet(), await world.wallet()];
    await world.create(wallet, receiver.url, { events: ["deposit.seen", "api_key.revoked"] });
    const { account } = wallet;
    const keyOf = (change: "created" | "revoked", kind: "api-key" | "management-key" = "api-key") =>
      ({
        topic: "key.changed",
        subject: account,
        data: { account, keyId: `${kind} ${change}`, kind, change },
      }) as const;
    const seen = depositOf(account, 7);
    await world.publish(
      depositOf(other.account, 1),
      depositOf(account, 2),
      { ...seen, data: { ...seen.data, status: "seen" } },
      keyOf("created"),
      keyOf("revoked", "management-key"),
      keyOf("revoked"),
    );
    await serve(world.worker());
    expect(receiver.types()).toEqual(["deposit.seen", "api_key.revoked"]);
    expect(receiver.received[1]?.payload.data).toEqual({ key_id: "api-key revoked" });
  });

  test("a low balance is sent once when it falls below the threshold, and again only after it was above", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const balanceOf = balancesOf(wallet.account);
    await world.create(wallet, receiver.url, LOW_BALANCE);
    const worker = world.worker();
    await world.publish(balanceOf(150), balanceOf(150, 120), balanceOf(99), balanceOf(98));
    await serve(worker);
    await world.publish(balanceOf(50), balanceOf(100), balanceOf(20));
    await serve(worker);
    expect(receiver.received.map(({ payload }) => payload.data)).toEqual([
      { balance: "99", deposit: "99", credit: "0", threshold: "100" },
      { balance: "20", deposit: "20", credit: "0", threshold: "100" },
    ]);
    expect(sequencesOf(receiver)).toEqual([1, 2]);
  });

  test("a low balance is sent if the balance rose and fell while nothing of it was read", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const balanceOf = balancesOf(wallet.account);
    const { webhook } = await world.create(wallet, receiver.url, LOW_BALANCE);
    const worker = world.worker();
    const change = (to: WebhookChange) => world.webhooks.update(wallet, webhook.id, to);
    const publish = async (...balances: readonly number[]) => {
      await world.publish(...balances.map((balance) => balanceOf(balance)));
      await serve(worker);
    };
    await publish(50);
    // While the webhook receives other events.
    await change({ events: ["deposit.credited"] });
    await publish(150);
    await change({ events: ["balance.low"] });
    await publish(49);
    // While it is disabled, and what was published then has expired.
    await change({ isEnabled: false });
    await publish(150);
    await expireOldest(world, 4, "balance.changed");
    await change({ isEnabled: true });
    await publish(48, 47);
    expect(receiver.received.map(({ payload }) => payload.data.balance)).toEqual(["50", "49", "48"]);
  });

  test("80 % and all of a tag's budget are sent once each, and again after the budget was raised", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { account } = wallet;
    await world.create(wallet, receiver.url, { events: ["tag_budget.limit_reached"] });
    const { database } = world;
    const budgets = new TagBudgetsService({ database, clock: systemClock, committed: () => {} });
    const tag = { name: "team", value: "search" };
    const { id } = await budgets.create(account, { ...tag, creditLimit: 1_000n, resetPeriod: "daily" });
    await budgets.create(account, { ...tag, value: "ads", creditLimit: 0n });
    const worker = world.worker();
    const spend = async (used: number) => {
      await database.rows(
        "update tag_budget set used = $2::numeric, spent_at = now() where id = $1::uuid returning id",
        [id, used],
      );
      const amounts = { deposit: "1", credit: "0", held: "0" };
      const data = { account, cause: "settlement", ...amounts, requestId: null } as const;
      await world.publish({ topic: "balance.changed", subject: account, data });
      await serve(worker);
      await untilPublished(database);
      await serve(worker);
    };
    for (const used of [799, 800, 900, 1_000, 1_001]) await spend(used);
    await budgets.update(account, id, { creditLimit: 1_100n });
    await spend(1_002);
    const notice = { budget_id: id, ...tag };
    expect(receiver.received.map(({ payload: { data } }) => data)).toEqual([
      { ...notice, percent: 80, used: "800", credit_limit: "1000" },
      { ...notice, percent: 100, used: "1000", credit_limit: "1000" },
      { ...notice, percent: 80, used: "1002", credit_limit: "1100" },
    ]);
    await database.rows("update tag_budget set used = 0 returning id");
  });

  test("80 % and all of a key's limit are sent once each, and again after the limit was raised", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { account } = wallet;
    await world.create(wallet, receiver.url, { events: ["api_key.limit_reached"] });
    const apiKeys = new ApiKeyService({ database: world.database, clock: systemClock, committed: () => {} });
    const { key } = await apiKeys.create(account, "limited", { creditLimit: 1_000n, resetPeriod: "daily" });
    await apiKeys.create(account, "unlimited");
    const worker = world.worker();
    const setUsed = (used: number) =>
      world.database.rows("update api_key set used = $2::numeric, spent_at = now() where id = $1::uuid", [
        key.id,
        used,
      ]);
    const spend = async (used: number) => {
      await setUsed(used);
      const data = {
        account,
        cause: "settlement",
        deposit: "1",
        credit: "0",
        held: "0",
        requestId: null,
      } as const;
      await world.publish({ topic: "balance.changed", subject: account, data });
      await serve(worker);
      await untilPublished(world.database);
      await serve(worker);
    };
    const noticesOf = () =>
      receiver.received.map(({ payload: { data } }) => [data.percent, data.used, data.credit_limit]);
    for (const used of [799, 800, 900, 1_000, 1_001]) await spend(used);
    expect(noticesOf()).toEqual([
      [80, "800", "1000"],
      [100, "1000", "1000"],
    ]);
    expect(receiver.received[0]?.payload.data.key_id).toBe(key.id);
    await apiKeys.update(account, key.id, { creditLimit: 1_100n });
    await spend(1_001);
    expect(noticesOf().slice(2)).toEqual([[80, "1001", "1100"]]);
    // Nothing was charged, which the audit of the ledger would find.
    await setUsed(0);
  });
});

/** Makes the oldest `count` published events so old that they are deleted. */
async function expireOldest(
  { database }: WebhookWorld,
  count: number,
  topic = "deposit.seen",
): Promise<void> {
  await database.rows(
    `with old as (select id, topic, position from outbox where topic = '${topic}' order by position limit ${count}),
     gone as (delete from outbox where id in (select id from old))
     insert into outbox_forgotten (topic, position) select topic, max(position) from old group by topic
     on conflict (topic) do update set position = excluded.position`,
  );
}
