// @module-tag large
import { parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, inject, test } from "vitest";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../src/devnet/chain/actors.ts";
import { SCOPES, type Scope } from "../../src/keys/auth/principal.ts";
import { newAccount } from "../support/chain/deposits.ts";
import { signInAs } from "../support/chain/sign-in.ts";
import {
  ask,
  type Following,
  followEvents,
  followSocket,
  isRouted,
  openSocket,
} from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { untilPublished } from "../support/events.ts";
import { scaled } from "../support/machine.ts";
import { seedAccount } from "../support/seed.ts";
import { type Stack, useStack, useTwins } from "../support/stack.ts";
import { until } from "../support/until.ts";

const REVOKED_WITHIN_MS = 5_000;
const DEPOSITS = "{ id cursor at depositId amount status account { address } deposit { depositId status } }";
const KEYS = "{ id cursor keyId kind change apiKey { keyId name status } }";
const FOLLOW = { socket: followSocket, events: followEvents } as const;
const TRANSPORTS = Object.keys(FOLLOW) as (keyof typeof FOLLOW)[];
/**
 * The transports that are closed with their credential: an external router keeps its clients' sockets open.
 */
const CLOSED = isRouted ? (["events"] as const) : TRANSPORTS;

const stack = useStack();

async function managementKey(account: string, ...scopes: Scope[]) {
  const { key, secret } = await stack().app.managementKeys.create(account, `key ${Math.random()}`, scopes);
  return { id: key.id, secret };
}

/** Opens a subscription, from a cursor after everything so far, and waits until its source is read. */
async function follow(transport: keyof typeof FOLLOW, secret: string, query: string): Promise<Following> {
  await untilPublished(stack().app.database);
  const before = stack().app.events.openStreams;
  const following = await FOLLOW[transport](stack().origin, secret, `subscription { ${query} }`);
  await until(() => stack().app.events.openStreams > before || following.results.length > 0);
  return following;
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever its own query asked for
const eventsOf = ({ results }: Following, field: string): any[] => results.map(({ data }) => data[field]);

describe.each(TRANSPORTS)("over %s", (transport) => {
  test("an account receives each step of its own deposits only, and resumes after any of them", async () => {
    const account = newAccount();
    await stack().app.database.rows("insert into account (address) values ($1::text)", [account]);
    const { secret } = await managementKey(account, "account:read");
    const live = await follow(transport, secret, `depositChanged ${DEPOSITS}`);
    const pay = (to: typeof account, amountNeuron: bigint) =>
      depositToVault(stack().rpcUrl, { fromKey: DEPLOYER.privateKey, account: to, amountNeuron });
    await pay(newAccount(), 5n);
    await pay(account, parseEther("1"));
    await until(() => live.results.length === 2);
    const [seen, confirmed] = eventsOf(live, "depositChanged");
    expect([seen.status, confirmed.status]).toEqual(["SEEN", "CONFIRMED"]);
    expect(confirmed).toMatchObject({
      amount: String(parseEther("1")),
      depositId: seen.depositId,
      deposit: { depositId: seen.depositId, status: "CONFIRMED" },
    });
    await live.stop();
    await pay(account, 7n);
    const resumed = await follow(transport, secret, `depositChanged(after: "${seen.cursor}") ${DEPOSITS}`);
    await until(() => resumed.results.length === 3);
    const later = eventsOf(resumed, "depositChanged");
    expect(later.map(({ id }) => id)[0]).toBe(confirmed.id);
    expect(later.slice(1)).toMatchObject([
      { amount: "7", status: "SEEN" },
      { amount: "7", status: "CONFIRMED" },
    ]);
    await resumed.stop();
  });

  test("an account receives the changes of its keys, and again from a cursor; those of mk- keys only a session receives", async () => {
    const wallet = privateKeyToAccount(generatePrivateKey());
    const { token, account } = await signInAs(stack().origin, wallet);
    const { secret } = await managementKey(account, "keys:read");
    const session = await follow(transport, token, `keyChanged ${KEYS}`);
    const managed = await follow(transport, secret, `keyChanged ${KEYS}`);
    await managementKey(account, "account:read");
    const { key } = await stack().app.apiKeys.create(account, "followed");
    await stack().app.apiKeys.revoke(account, key.id);
    await until(() => session.results.length === 3 && managed.results.length === 2);
    const steps = (events: { kind: string; change: string }[]) =>
      events.map(({ kind, change }) => [kind, change]);
    const keyEvents = eventsOf(managed, "keyChanged");
    expect(steps(eventsOf(session, "keyChanged"))).toEqual([
      ["MANAGEMENT_KEY", "CREATED"],
      ["API_KEY", "CREATED"],
      ["API_KEY", "REVOKED"],
    ]);
    expect(steps(keyEvents)).toEqual([
      ["API_KEY", "CREATED"],
      ["API_KEY", "REVOKED"],
    ]);
    expect(keyEvents[1]).toMatchObject({
      keyId: key.id,
      apiKey: { keyId: key.id, name: "followed", status: "REVOKED" },
    });
    await managed.stop();
    const resumed = await follow(transport, secret, `keyChanged(after: "${keyEvents[0].cursor}") ${KEYS}`);
    await until(() => resumed.results.length === 1);
    expect(eventsOf(resumed, "keyChanged")[0].id).toBe(keyEvents[1].id);
    await Promise.all([session.stop(), resumed.stop()]);
  });
});

test.each([
  ["balanceChanged { id }", "account:read"],
  ["depositChanged { id }", "account:read"],
  ["keyChanged { id }", "keys:read"],
] as const)(
  "subscription { %s } needs the scope %s, and is refused by name without it",
  async (query, scope) => {
    const { account, secret } = await seedAccount(stack().app.database, 1n);
    const others = SCOPES.filter((known) => known !== scope);
    const refusals = [
      [undefined, "missing_authorization"],
      [secret, "insufficient_scope"],
      [(await managementKey(account, ...others)).secret, "insufficient_scope"],
    ] as const;
    for (const [given, code] of refusals) {
      const following = await followEvents(stack().origin, given, `subscription { ${query} }`);
      await following.closed;
      expect(following.results.map(({ errors }) => errors?.[0]?.extensions?.code)).toEqual([code]);
    }
    const allowed = await follow("events", (await managementKey(account, scope)).secret, query);
    expect(allowed.results).toEqual([]);
    await allowed.stop();
  },
);

test("a foreign cursor is refused by name", async () => {
  const { account } = await seedAccount(stack().app.database, 1n);
  const { secret } = await managementKey(account, "account:read");
  const following = await followEvents(
    stack().origin,
    secret,
    'subscription { depositChanged(after: "abc") { id } }',
  );
  await following.closed;
  expect(following.results[0]?.errors?.[0]?.extensions?.code).toBe("invalid_cursor");
});

/** How the subscription ended: after how long, and with which error. */
async function endOf(following: Following, end: () => Promise<unknown>) {
  await end();
  const since = performance.now();
  const closed = (await following.closed) as { code?: number } | undefined;
  return { ms: performance.now() - since, code: closed?.code, last: following.results.at(-1)?.errors?.[0] };
}

function expectClosed(ended: Awaited<ReturnType<typeof endOf>>, transport: string, why: string): void {
  expect(ended.ms).toBeLessThan(scaled(REVOKED_WITHIN_MS));
  if (transport === "socket") expect(ended.code).toBe(4403);
  else expect(ended.last?.extensions?.code).toBe(why);
}

describe.each(CLOSED)("a subscription over %s", (transport) => {
  test("with an mk- key is closed when the key is revoked, and delivers nothing after", async () => {
    const { account } = await seedAccount(stack().app.database, 1n);
    const { id, secret } = await managementKey(account, "account:read");
    // The seeded deposit is an event too, and arrives once it is published.
    await until(async () => {
      const rows = await stack().app.database.rows("select 1 from outbox where position is null");
      return rows.length === 0;
    });
    const bystander = await follow(
      transport,
      (await managementKey(account, "account:read")).secret,
      "balanceChanged { id }",
    );
    const following = await follow(transport, secret, "balanceChanged { id }");
    const ended = await endOf(following, () => stack().app.managementKeys.revoke(account, id));
    expectClosed(ended, transport, "api_key_revoked");
    expect(bystander.results).toEqual([]);
    await bystander.stop();
    await until(() => {
      expect([stack().app.events.openStreams, stack().app.credentialWatch.size]).toEqual([0, 0]);
    });
  });

  test("with a key that loses a scope is closed", async () => {
    const { account } = await seedAccount(stack().app.database, 1n);
    const { id, secret } = await managementKey(account, "account:read", "keys:read");
    const following = await follow(transport, secret, "balanceChanged { id }");
    const ended = await endOf(following, () =>
      stack().app.managementKeys.update(account, id, { scopes: ["keys:read"] }),
    );
    expectClosed(ended, transport, "insufficient_scope");
  });

  test("with a wallet session is closed when the session is signed out", async () => {
    const { token } = await signInAs(stack().origin, privateKeyToAccount(generatePrivateKey()));
    const following = await follow(transport, token, "keyChanged { id }");
    const ended = await endOf(following, () => rest(stack().origin, "/v1/auth/signout", token, { body: {} }));
    expectClosed(ended, transport, "session_ended");
  });

  test("with a wallet session is closed when the session expires", async () => {
    const { token, account } = await signInAs(stack().origin, privateKeyToAccount(generatePrivateKey()));
    const following = await follow(transport, token, "keyChanged { id }");
    const ended = await endOf(following, () =>
      stack().app.database.rows("update wallet_session set expires_at = now() where account = $1::text", [
        account,
      ]),
    );
    expectClosed(ended, transport, "session_ended");
  });
});

test.skipIf(isRouted)(
  "an idle socket that was opened with an sk- key is closed when the key is revoked",
  async () => {
    const { account, keyId, secret } = await seedAccount(stack().app.database, 1n);
    const watched = stack().app.credentialWatch.size;
    const closed = openSocket(stack().origin, secret);
    await until(() => stack().app.credentialWatch.size > watched);
    const since = performance.now();
    await stack().app.apiKeys.revoke(account, keyId);
    expect(await closed).toMatchObject({ code: 4403 });
    expect(performance.now() - since).toBeLessThan(scaled(REVOKED_WITHIN_MS));
  },
);

test.skipIf(isRouted)("a revoked credential opens nothing any more", async () => {
  const { account } = await seedAccount(stack().app.database, 1n);
  const { id, secret } = await managementKey(account, "account:read");
  await stack().app.managementKeys.revoke(account, id);
  const socket = await followSocket(stack().origin, secret, "subscription { balanceChanged { id } }");
  expect(await socket.closed).toMatchObject({ code: 4403 });
  await expect(
    followEvents(stack().origin, secret, "subscription { balanceChanged { id } }"),
  ).rejects.toThrow("401");
  expect((await ask(stack().origin, secret, "{ viewer { kind } }")).status).toBe(401);
});

describe.skipIf(!inject("postgresUrl"))("on another process that receives no events of the first", () => {
  const twins = useTwins();

  test.each(CLOSED)("a stream over %s is closed within 5 s of the revocation", async (transport) => {
    const [one, other]: readonly [Stack, Stack] = twins();
    const { account } = await seedAccount(one.app.database, 1n);
    const { key, secret } = await one.app.managementKeys.create(account, "followed", ["account:read"]);
    const before = other.app.events.openStreams;
    const following = await FOLLOW[transport](other.origin, secret, "subscription { balanceChanged { id } }");
    await until(() => other.app.events.openStreams > before);
    const ended = await endOf(following, () => one.app.managementKeys.revoke(account, key.id));
    expectClosed(ended, transport, "api_key_revoked");
  });
});
