// @module-tag medium
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type WaitingClock } from "../../src/kernel/clock.ts";
import { localSignIn, type SignInFields, signInAs } from "../support/chain/sign-in.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { startReceiver, verify } from "../support/webhooks/receiver.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

type Answer = {
  readonly created_at: string;
  readonly webhook_id: string;
  readonly secret: string;
  readonly data: readonly { readonly created_at: string }[];
  readonly error?: { readonly param: string };
};

/** The clock of a machine that a test sets wrong, also while the process runs. */
class WrongClock implements WaitingClock {
  aheadMs: number;
  readonly monotonicMs = systemClock.monotonicMs;
  readonly sleep = systemClock.sleep;

  constructor(aheadMs: number) {
    this.aheadMs = aheadMs;
  }

  now(): Date {
    return new Date(Date.now() + this.aheadMs);
  }
}

describe.each([
  ["two hours ahead", 2 * HOUR_MS],
  ["two hours behind", -2 * HOUR_MS],
])("a process whose clock is %s", (_, aheadMs) => {
  const clock = new WrongClock(aheadMs);
  const stack = useStack({ METRICS_PORT: "0" }, "server", clock);

  /** The status of a sign-in with a message of these fields. */
  async function signIn(fields: SignInFields): Promise<number> {
    const wallet = privateKeyToAccount(generatePrivateKey());
    const { nonce } = (await (await fetch(`${stack().origin}/v1/auth/nonce`)).json()) as { nonce: string };
    const message = localSignIn(wallet.address, nonce, fields);
    const reply = await fetch(`${stack().origin}/v1/auth/signin`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message, signature: await wallet.signMessage({ message }) }),
    });
    return reply.status;
  }

  async function newCaller() {
    const { token } = await signInAs(stack().origin, privateKeyToAccount(generatePrivateKey()));
    return async (path: string, body?: object) => {
      const reply = await fetch(`${stack().origin}${path}`, {
        method: body ? "POST" : "GET",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Answer };
    };
  }

  /** Far less than the clock is off, and far more than a slow machine takes. */
  const expectNow = (time: string | number) =>
    expect(Math.abs(new Date(time).getTime() - Date.now())).toBeLessThan(HOUR_MS / 2);

  test("accepts sign-in messages as of the database's time, also after its clock has jumped", async () => {
    for (const jumpMs of [0, -HOUR_MS, HOUR_MS]) {
      clock.aheadMs = aheadMs + jumpMs;
      expect(await signIn({ expirationTime: inMs(10 * MINUTE_MS) })).toBe(200);
      expect(await signIn({ issuedAt: inMs(HOUR_MS) })).toBe(401);
      expect(await signIn({ issuedAt: inMs(-HOUR_MS), expirationTime: inMs(-MINUTE_MS) })).toBe(401);
    }
    clock.aheadMs = aheadMs;
  });

  test("creates keys that expire in an hour, and states when keys were created and limits reset", async () => {
    const call = await newCaller();
    const made = await call("/v1/api-keys", { name: "short", expiration: inMs(HOUR_MS) });
    expect(made.status).toBe(201);
    const refused = await call("/v1/api-keys", { name: "past", expiration: inMs(-MINUTE_MS) });
    expect([refused.status, refused.body.error?.param]).toEqual([400, "expiration"]);
    const { data } = (await call("/v1/api-keys")).body;
    expectNow(data[0]?.created_at ?? "");
    const managed = await call("/v1/management-keys", { name: "m", scopes: ["account:read"] });
    expect(managed.status).toBe(201);
    expectNow((await call("/v1/management-keys")).body.data[0]?.created_at ?? "");
    expectNow(made.headers.get("x-ratelimit-reset-requests") ?? "");
  });

  test("signs deliveries that the official library accepts", async () => {
    const receiver = await startReceiver(onTestFinished);
    const call = await newCaller();
    const { body: webhook } = await call("/v1/webhooks", {
      ...{ name: "keys", url: receiver.url, events: ["api_key.created"] },
    });
    expectNow(webhook.created_at);
    expect((await call(`/v1/webhooks/${webhook.webhook_id}/test`, {})).status).toBe(200);
    await call("/v1/api-keys", { name: "an event" });
    await until(() => receiver.received.length === 2);
    for (const delivery of receiver.received) verify(delivery, webhook.secret);
  });

  test("warns once, shows its offset, and reports once that its clock is right again", async () => {
    const { app, logged } = stack();
    const lines = (text: string) =>
      logged()
        .split("\n")
        .filter((line) => line.includes(text)).length;
    const offset = async () =>
      Number(/^zerograph_clock_offset_seconds (\S+)$/m.exec((await app.metrics?.text())?.body ?? "")?.[1]);
    expect(Math.abs((await offset()) - aheadMs / 1_000)).toBeLessThan(60);
    await app.processes.report();
    expect(lines("differs from the database's")).toBe(1);
    clock.aheadMs = 0;
    await app.processes.report();
    await app.processes.report();
    expect(lines("agrees with the database's again")).toBe(1);
    expect(Math.abs(await offset())).toBeLessThan(5);
  });
});
