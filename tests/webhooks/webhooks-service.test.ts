// @module-tag large
import type { lookup } from "node:dns";
import { expect, onTestFinished, test } from "vitest";
import type { AppError } from "../../src/kernel/errors.ts";
import type { Principal, Scope } from "../../src/keys/auth/principal.ts";
import { MAX_WEBHOOKS } from "../../src/webhooks/webhook.ts";
import { describeDatabases, type OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";
import { accept, answerWith, type Received, startReceiver, verify } from "../support/webhooks/receiver.ts";
import { serve, WebhookWorld } from "../support/webhooks/webhook-world.ts";

const onEnd = onTestFinished as OnEnd;
const HOUR = 3_600_000;
const PUBLIC = "https://hooks.example.com/in?token=1";

/** Resolves every name to this address. */
const resolvingTo = (address: string) =>
  ((_name: string, _options: object, done: (error: null, addresses: object[]) => void) =>
    done(null, [{ address, family: 4 }])) as unknown as typeof lookup;

const managementKey = (account: string, scopes: readonly Scope[]): Principal => ({
  kind: "management-key",
  account,
  keyId: "none",
  scopes,
});

describeDatabases("webhooks", (kind) => {
  test("a URL that could reach a private network is refused where it is set, by the name of the field", async () => {
    const world = await WebhookWorld.open(kind, onEnd, { allowsPrivate: false });
    const wallet = await world.wallet();
    for (const url of [
      "http://hooks.example.com/",
      "https://127.0.0.1/",
      "https://[::1]/",
      "https://[::ffff:10.0.0.1]/",
      "https://0x7f.1/",
      "https://2130706433/",
      "https://169.254.169.254/latest/meta-data",
      "https://localhost/",
      "https://metadata.internal/",
      "https://router/",
      "https://user:pass@hooks.example.com/",
      "https://hooks.example.com/#fragment",
      "https://hooks.example.com:22/",
      "ftp://hooks.example.com/",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "hooks.example.com",
      `https://hooks.example.com/${"x".repeat(2_048)}`,
    ])
      await expect(world.create(wallet, url), url).rejects.toMatchObject({
        code: "invalid_parameter",
        param: "url",
      });
    const { webhook } = await world.create(wallet, PUBLIC);
    await expect(
      world.webhooks.update(wallet, webhook.id, { url: "https://10.0.0.1/" }),
    ).rejects.toMatchObject({ param: "url" });
    expect((await world.webhooks.get(wallet.account, webhook.id)).url).toBe(PUBLIC);
  });

  test("a name that resolves to a private address is not connected to, in deliveries and tests", async () => {
    const resolve = resolvingTo("127.0.0.1");
    const world = await WebhookWorld.open(kind, onEnd, { allowsPrivate: false, resolve });
    const victim = await startReceiver(onEnd);
    const { port } = new URL(victim.url);
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, `https://rebound.example.com:${port}/`);
    expect(await world.webhooks.test(wallet, webhook.id)).toMatchObject({
      status: null,
      failure: "address_not_allowed",
    });
    await world.deposit(wallet.account, 1);
    await serve(world.worker());
    const attempts = await world.webhooks.attempts(wallet.account, webhook.id);
    expect(attempts.map(({ failure }) => failure)).toEqual(["address_not_allowed"]);
    expect(victim.received).toEqual([]);
  });

  test("a redirect is not followed: it counts as a failure", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const target = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const redirecting = await startReceiver(onEnd, answerWith(307, { location: target.url }));
    const { webhook } = await world.create(wallet, redirecting.url);
    await world.deposit(wallet.account, 1);
    await serve(world.worker());
    expect(redirecting.received).toHaveLength(1);
    expect(target.received).toEqual([]);
    expect(await world.webhooks.attempts(wallet.account, webhook.id)).toMatchObject([
      { status: 307, failure: "redirected", event: "deposit.credited", sequence: 1 },
    ]);
  });

  test("every event is delivered with the new secret, also if it replaces the previous one between two deliveries", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const wallet = await world.wallet();
    let rotated: Promise<{ readonly secret: string }> | undefined;
    const receiver = await startReceiver(onEnd, async (_received, response) => {
      rotated ??= world.webhooks.rotateSecret(wallet, webhook.id);
      await rotated;
      response.writeHead(204).end();
    });
    const { webhook, secret: first } = await world.create(wallet, receiver.url);
    await world.deposit(wallet.account, 1, 2, 3);
    const worker = world.worker();
    await serve(worker);
    await serve(worker);
    const { secret = fail() } = (await rotated) ?? {};
    const deliveries = receiver.received.filter((delivery) => isSigned(delivery, secret));
    expect(deliveries.map(({ payload }) => payload.sequence)).toEqual([1, 2, 3]);
    expect(receiver.received.every((delivery) => isSigned(delivery, first))).toBe(true);
  });

  test("a rotated secret signs beside the previous one for 24 hours, then alone", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook, secret: first } = await world.create(wallet, receiver.url);
    const { secret: second } = await world.webhooks.rotateSecret(wallet, webhook.id.toUpperCase());
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(second).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(second).not.toBe(first);
    await world.webhooks.test(wallet, webhook.id);
    const [test = fail()] = receiver.received;
    expect(test.payload).toMatchObject({ type: "webhook.test", sequence: null });
    verify(test, first);
    verify(test, second);
    world.clock.pass(25 * HOUR);
    await world.webhooks.test(wallet, webhook.id);
    const later = receiver.received[1] ?? fail();
    expect(String(later.headers["webhook-signature"]).split(" ")).toHaveLength(1);
    const { webhook: other, secret: foreign } = await world.create(wallet, receiver.url);
    expect(other.id).not.toBe(webhook.id);
    expect(() => verify(test, foreign)).toThrow();
    expect(() => verify({ ...test, text: `${test.text} ` }, second)).toThrow();
    const rows = await world.database.rows<{ text: string }>("select w::text as text from webhook w");
    for (const { text } of rows)
      for (const secret of [first, second]) expect(text).not.toContain(secret.slice(6));
  });

  test("tests of one account whose receivers are slow keep no other account from testing", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const slow = await startReceiver(onEnd, () => {});
    const [one, other] = [await world.wallet(), await world.wallet()];
    const { webhook } = await world.create(one, slow.url);
    const stop = new AbortController();
    const tests = Array.from({ length: 16 }, () =>
      world.webhooks.test(one, webhook.id, stop.signal).then(
        ({ failure }) => failure,
        (error: AppError) => error.code,
      ),
    );
    await until(() => slow.received.length > 0);
    const receiver = await startReceiver(onEnd);
    const { webhook: second } = await world.create(other, receiver.url);
    expect(await world.webhooks.test(other, second.id)).toMatchObject({ failure: null, status: 204 });
    stop.abort();
    const outcomes = await Promise.all(tests);
    expect(outcomes.filter((outcome) => outcome === "overloaded")).toHaveLength(12);
    // Their places are free again.
    slow.answer = accept;
    expect(await world.webhooks.test(one, webhook.id)).toMatchObject({ failure: null, status: 204 });
  });

  test("a replay delivers again what followed a cursor, with the same ids and new numbers", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    await world.deposit(wallet.account, 1, 2, 3);
    const worker = world.worker();
    await serve(worker);
    const [first = fail()] = receiver.received;
    await world.webhooks.replay(wallet, webhook.id, first.payload.cursor);
    await serve(worker);
    expect(receiver.received.map(({ payload }) => payload.data.amount)).toEqual(["1", "2", "3", "2", "3"]);
    expect(receiver.received.map(({ payload }) => payload.sequence)).toEqual([1, 2, 3, 4, 5]);
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(ids.slice(3)).toEqual(ids.slice(1, 3));
    for (const after of ["", "none", world.events.cursorAt(10n ** 9n)])
      await expect(world.webhooks.replay(wallet, webhook.id, after)).rejects.toMatchObject({
        code: "invalid_cursor",
      });
    await world.database.rows(
      "insert into outbox_forgotten select 'deposit.seen', max(position) from outbox",
    );
    await expect(world.webhooks.replay(wallet, webhook.id, first.payload.cursor)).rejects.toMatchObject({
      code: "cursor_expired",
      param: "after",
    });
  });

  test("an account has at most ten webhooks, also when they are created at once", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const [wallet, other] = [await world.wallet(), await world.wallet()];
    const made = await Promise.allSettled(
      Array.from({ length: MAX_WEBHOOKS + 3 }, () => world.create(wallet, "http://127.0.0.1:1/")),
    );
    const refused = made.flatMap((result) => (result.status === "rejected" ? [result.reason.code] : []));
    expect(refused).toEqual(Array(3).fill("webhook_limit_reached"));
    expect(await world.webhooks.list(wallet.account)).toHaveLength(MAX_WEBHOOKS);
    await world.create(other, "http://127.0.0.1:1/");
  });

  test("another account finds, changes, tests and replays nothing", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const [wallet, other] = [await world.wallet(), await world.wallet()];
    const { webhook } = await world.create(wallet, receiver.url);
    const { webhooks } = world;
    const calls = [webhook.id, "none", "' or 1=1 --"].flatMap((id) => [
      webhooks.get(other.account, id),
      webhooks.attempts(other.account, id),
      webhooks.update(other, id, { isEnabled: false }),
      webhooks.rotateSecret(other, id),
      webhooks.test(other, id),
      webhooks.replay(other, id, world.events.cursorAt(0n)),
      webhooks.delete(other, id),
    ]);
    for (const call of await Promise.allSettled(calls))
      expect(call).toMatchObject({ status: "rejected", reason: { code: "webhook_not_found" } });
    expect(await webhooks.get(wallet.account, webhook.id)).toEqual(webhook);
    expect(receiver.received).toEqual([]);
  });

  test("a key sets up a webhook only for events that it may read itself", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const { account } = await world.wallet();
    const url = "http://127.0.0.1:1/";
    const manager = managementKey(account, ["keys:manage"]);
    const reader = managementKey(account, ["keys:manage", "account:read"]);
    const all = managementKey(account, ["account:read", "keys:read", "keys:create", "keys:manage"]);
    const denied = { code: "insufficient_scope" };
    await expect(world.create(managementKey(account, ["account:read"]), url)).rejects.toMatchObject(denied);
    await expect(world.create(manager, url)).rejects.toMatchObject(denied);
    const { webhook } = await world.create(reader, url);
    await expect(
      world.webhooks.update(reader, webhook.id, { events: ["api_key.created"] }),
    ).rejects.toMatchObject(denied);
    await expect(world.create(all, url, { events: ["management_key.created"] })).rejects.toMatchObject(
      denied,
    );
    await world.webhooks.update(all, webhook.id, { events: ["api_key.created"] });
    // A key that may not read the events cannot redirect, silence or forge them.
    const { id } = webhook;
    for (const change of [{ url }, { isEnabled: false }, { events: ["job.ended"] as const }])
      await expect(world.webhooks.update(manager, id, change)).rejects.toMatchObject(denied);
    await expect(world.webhooks.rotateSecret(manager, id)).rejects.toMatchObject(denied);
    await expect(world.webhooks.replay(manager, id, "x")).rejects.toMatchObject(denied);
    await expect(world.webhooks.delete(manager, id)).rejects.toMatchObject(denied);
    expect(await world.webhooks.update(all, id, { isEnabled: false })).toMatchObject({
      status: "disabled",
      disabledReason: "owner",
    });
  });

  test("settings are checked: a name, at least one event, a threshold for a low balance", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const wallet = await world.wallet();
    const url = "http://127.0.0.1:1/";
    const refused = (param: string) => ({ code: "invalid_parameter", param });
    await expect(world.create(wallet, url, { name: " " })).rejects.toMatchObject(refused("name"));
    await expect(world.create(wallet, url, { events: [] })).rejects.toMatchObject(refused("events"));
    await expect(world.create(wallet, url, { events: ["balance.low"] })).rejects.toMatchObject(
      refused("balance_threshold"),
    );
    const spaced = await world.create(wallet, " http://127.0.0.1:1/a b\r\n");
    expect(spaced.webhook.url).toBe("http://127.0.0.1:1/a%20b");
    const { webhook } = await world.create(wallet, url);
    await expect(
      world.webhooks.update(wallet, webhook.id, { events: ["balance.low"] }),
    ).rejects.toMatchObject(refused("balance_threshold"));
    expect(
      await world.webhooks.update(wallet, webhook.id, { events: ["balance.low"], balanceThreshold: 5n }),
    ).toMatchObject({ events: ["balance.low"], balanceThreshold: 5n });
    await world.webhooks.delete(wallet, webhook.id);
    expect(await world.webhooks.find(wallet.account, webhook.id)).toBeUndefined();
  });

  test("a webhook that its owner disables after its receiver failed can be enabled only by the owner", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const gone = await startReceiver(onEnd, answerWith(410));
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, gone.url);
    await world.deposit(wallet.account, 1);
    await serve(world.worker());
    const failed = await world.webhooks.get(wallet.account, webhook.id);
    expect(failed).toMatchObject({ status: "disabled", disabledReason: "gone" });
    const stopped = await world.webhooks.update(wallet, webhook.id, { isEnabled: false });
    expect(stopped).toMatchObject({ disabledReason: "owner", disabledAt: failed.disabledAt });
    await expect(world.webhooks.enableFaulty(webhook.id)).rejects.toMatchObject({
      code: "invalid_parameter",
    });
    const resumed = await world.webhooks.update(wallet, webhook.id, { isEnabled: true });
    expect(resumed).toMatchObject({ status: "active", disabledReason: null });
  });

  test("a disabled webhook resumes after the last delivered event, and keeps at most 50 attempts", async () => {
    const world = await WebhookWorld.open(kind, onEnd);
    const receiver = await startReceiver(onEnd);
    const wallet = await world.wallet();
    const { webhook } = await world.create(wallet, receiver.url);
    const worker = world.worker();
    await world.deposit(wallet.account, 0);
    await serve(worker);
    await world.webhooks.update(wallet, webhook.id, { isEnabled: false });
    await world.deposit(wallet.account, ...Array.from({ length: 129 }, (_, index) => index + 1));
    await serve(worker);
    expect(receiver.received).toHaveLength(1);
    await world.webhooks.update(wallet, webhook.id, { isEnabled: true });
    await serve(worker);
    expect(receiver.received.map(({ payload }) => Number(payload.data.amount))).toEqual(
      Array.from({ length: 130 }, (_, index) => index),
    );
    const attempts = await world.webhooks.attempts(wallet.account, webhook.id);
    expect(attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: 50 }, (_, index) => 130 - index),
    );
  });
});

function isSigned(delivery: Received, secret: string): boolean {
  try {
    verify(delivery, secret);
    return true;
  } catch {
    return false;
  }
}

function fail(): never {
  throw new Error("nothing was delivered");
}
