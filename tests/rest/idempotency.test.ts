// @module-tag medium
import { createHash } from "node:crypto";
import { type IncomingMessage, request } from "node:http";
import { json } from "node:stream/consumers";
import { describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { hashRequest } from "../../src/idempotency/canonical-body.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { toOpenApi } from "../../src/rest/openapi/openapi.ts";
import { routes } from "../../src/rest/routes.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { balanceAtRest } from "../support/balance.ts";
import { openSession } from "../support/callers.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { describeDatabases } from "../support/servers/database.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { type Stack, useStack, useTwins } from "../support/stack.ts";
import { until } from "../support/until.ts";

const MAX_TURN_MS = 25;
const messages = [{ role: "user", content: "What is the sea?" }];
const ASK = { model: MODEL, messages, max_tokens: 5 };
const COST = BigInt(countPromptTokens(messages)) * INPUT_PRICE + 5n * OUTPUT_PRICE;

type Reply = { status: number; code: string | undefined; text: string; headers: Headers };

async function post(
  { origin }: Stack,
  secret: string,
  key: string | undefined,
  body: unknown = ASK,
  path = "/v1/chat/completions",
  sent: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const reply = await fetch(origin + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${secret}`,
      ...(key !== undefined && { "idempotency-key": key }),
      ...sent,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await reply.text();
  const isJson = reply.headers.get("content-type")?.includes("json");
  const code = isJson ? (JSON.parse(text) as { error?: { code: string } }).error?.code : undefined;
  return { status: reply.status, code, text, headers: reply.headers };
}

async function chargedTo({ app }: Stack, { account }: Seeded, given = 1_000_000n): Promise<bigint> {
  const { total } = await until(async () => {
    const balance = await balanceAtRest(app, account);
    // Another process returns what it holds by itself, after two seconds.
    return balance.held === 0n && balance;
  });
  return given - total;
}

describeDatabases("an Idempotency-Key", (kind) => {
  const stack = useStack({}, kind);
  const newCustomer = (neuron = 1_000_000n) => seedAccount(stack().app.database, neuron);

  async function keysOf({ account }: Seeded): Promise<readonly { state: string; body: string | null }[]> {
    return stack().app.database.rows(
      `select state, encode(body, 'hex') as body from idempotency_key where account = $1::text`,
      [account],
    );
  }

  test("returns the first answer again, byte for byte, and charges once", async () => {
    const customer = await newCustomer();
    const asked = stack().provider.requests;
    const key = newId();
    const first = await post(stack(), customer.secret, key);
    const again = await post(stack(), customer.secret, key);
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(again.text).toBe(first.text);
    for (const name of ["content-type", "zg-res-key"])
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(stack().provider.requests - asked).toBe(1);
    expect(await chargedTo(stack(), customer)).toBe(COST);
  });

  test("compares bodies by meaning: another order of members is the same, another word is not", async () => {
    const customer = await newCustomer();
    const key = newId();
    const first = await post(stack(), customer.secret, key);
    const turned = `{ "max_tokens": 5.0, "messages":[{"content":"What is the sea?","role":"user"}],\n"model":"${MODEL}" }`;
    expect((await post(stack(), customer.secret, key, turned)).text).toBe(first.text);
    const other = await post(stack(), customer.secret, key, { ...ASK, max_tokens: 6 });
    expect([other.status, other.code, other.headers.get("x-should-retry")]).toEqual([
      422,
      "idempotency_key_reused",
      "false",
    ]);
    expect(await chargedTo(stack(), customer)).toBe(COST);
  });

  test.each([
    ["another provider", { "x-0g-provider-address": `0x${"1".repeat(40)}` }],
    ["another order", { "x-0g-provider-sort": "latency" }],
    ["another price", { "x-platform-provider-max-price-usd-prompt": "1" }],
    ["other tags", { "x-tag": "team=search" }],
    ["a stored answer", { "x-0g-cache": "60" }],
  ])("does not replay the answer to a request that asks for %s by a header", async (_, sent) => {
    const customer = await newCustomer();
    const key = newId();
    const chat = "/v1/chat/completions";
    expect((await post(stack(), customer.secret, key)).status).toBe(200);
    const other = await post(stack(), customer.secret, key, ASK, chat, sent);
    expect([other.status, other.code]).toEqual([422, "idempotency_key_reused"]);
    expect((await post(stack(), customer.secret, key)).headers.get("idempotent-replayed")).toBe("true");
    expect(await chargedTo(stack(), customer)).toBe(COST);
  });

  test("compares headers by meaning, in any spelling, and not the session", async () => {
    const customer = await newCustomer();
    const key = newId();
    const chat = "/v1/chat/completions";
    const sent = { "x-0g-provider-sort": "latency", "x-tag": "b=2, a=1" };
    const first = await post(stack(), customer.secret, key, ASK, chat, { ...sent, "x-session-id": "one" });
    const alike = { "X-Platform-Provider-Sort": "latency", "X-Tag": "a=1,b=%32", "x-session-id": "two" };
    const again = await post(stack(), customer.secret, key, ASK, chat, alike);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const refused = await post(stack(), customer.secret, key);
    expect(refused.code).toBe("idempotency_key_reused");
  });

  test("compares whole numbers by all their digits", async () => {
    const customer = await newCustomer();
    const key = newId();
    const seeded = (seed: string) => JSON.stringify(ASK).replace(/}$/, `,"seed":${seed}}`);
    const first = await post(stack(), customer.secret, key, seeded("9007199254740993"));
    const other = await post(stack(), customer.secret, key, seeded("9007199254740992"));
    expect([first.status, other.status, other.code]).toEqual([200, 422, "idempotency_key_reused"]);
    const again = await post(stack(), customer.secret, key, seeded("9007199254740993e0"));
    expect(again.text).toBe(first.text);
  });

  test("of 20 parallel requests with one key, one calls the provider and is charged; the rest are answered that it is running", async () => {
    const customer = await newCustomer();
    const asked = stack().provider.requests;
    const key = newId();
    const replies = await postTwenty(stack(), () => post(stack(), customer.secret, key));
    stack().provider.behaviour = {};
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, code, headers } of replies.filter((reply) => reply.status !== 200))
      expect([status, code, headers.get("x-should-retry"), headers.get("retry-after")]).toEqual([
        409,
        "idempotency_in_progress",
        "true",
        "1",
      ]);
    expect(stack().provider.requests - asked).toBe(1);
    expect(await chargedTo(stack(), customer)).toBe(COST);
    expect((await post(stack(), customer.secret, key)).headers.get("idempotent-replayed")).toBe("true");
  });

  test("is scoped to the account: another account with the same key has its own answer", async () => {
    const [mine, other] = [await newCustomer(), await newCustomer()];
    const key = newId();
    await post(stack(), mine.secret, key);
    const reply = await post(stack(), other.secret, key);
    expect([reply.status, reply.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect(await chargedTo(stack(), other)).toBe(COST);
  });

  test("is scoped to one credential: another key of the account is authorized and answered by itself", async () => {
    const customer = await newCustomer();
    const { apiKeys, managementKeys } = stack().app;
    const key = newId();
    const first = await post(stack(), customer.secret, key);
    const other = await apiKeys.create(customer.account, "no credit", { creditLimit: 0n });
    const elsewhere = await apiKeys.create(customer.account, "other models", { allowedModels: ["another"] });
    const free = await apiKeys.create(customer.account, "no limits");
    const refusals = [await post(stack(), other.secret, key), await post(stack(), elsewhere.secret, key)];
    expect(refusals.map(({ status, code }) => [status, code])).toEqual([
      [402, "credit_limit_exceeded"],
      [403, "access_denied"],
    ]);
    const own = await post(stack(), free.secret, key);
    expect([own.status, own.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect(JSON.parse(own.text).x_0g_trace.request_id).not.toBe(JSON.parse(first.text).x_0g_trace.request_id);
    const makers = await Promise.all(
      ["one", "two"].map((name) => managementKeys.create(customer.account, name, ["keys:create"])),
    );
    const sessions = await Promise.all([1, 2].map(() => openSession(stack().app, customer.account)));
    const makes = [...makers.map(({ secret }) => secret), ...sessions];
    for (const [at, secret] of makes.entries())
      expect((await post(stack(), secret, key, { name: `made by ${at}` }, "/v1/api-keys")).status).toBe(201);
  });

  test("returns no answer to a credential that has been revoked, expired or signed out", async () => {
    const customer = await newCustomer();
    const { apiKeys, database } = stack().app;
    const revoked = await apiKeys.create(customer.account, "revoked");
    const expired = await apiKeys.create(customer.account, "expired");
    const session = await openSession(stack().app, customer.account);
    const key = newId();
    for (const { secret } of [revoked, expired]) expect((await post(stack(), secret, key)).status).toBe(200);
    const make = () => post(stack(), session, key, { name: "made by a session" }, "/v1/api-keys");
    expect((await make()).status).toBe(201);
    await apiKeys.revoke(customer.account, revoked.key.id);
    await database.rows("update api_key set expires_at = now() - interval '1 second' where id = $1::uuid", [
      expired.key.id,
    ]);
    await stack().server.inject({
      method: "POST",
      url: "/v1/auth/signout",
      headers: { authorization: `Bearer ${session}` },
    });
    const replies = [
      await post(stack(), revoked.secret, key),
      await post(stack(), expired.secret, key),
      await make(),
    ];
    expect(replies.map(({ status, code }) => [status, code])).toEqual([
      [401, "api_key_revoked"],
      [401, "api_key_expired"],
      [401, "session_ended"],
    ]);
  });

  test("stored in clear by an earlier version is not executed again, and its answer is gone", async () => {
    const customer = await newCustomer();
    const key = newId();
    await stack().app.database.rows(
      `insert into idempotency_key (account, method, route, key, body_hash, request_id, state, deadline)
       values ($1::text, 'POST', '/v1/chat/completions', $2::text, 'a hash', 'req-earlier', 'lost', now())`,
      [customer.account, key],
    );
    const reply = await post(stack(), customer.secret, key);
    expect([reply.status, reply.code]).toEqual([409, "idempotency_not_replayable"]);
    expect(reply.text).toContain("req-earlier");
    expect(await chargedTo(stack(), customer)).toBe(0n);
  });

  test("whose stored answer was tampered with returns no answer", async () => {
    const [mine, other] = [await newCustomer(), await newCustomer()];
    const key = newId();
    await post(stack(), mine.secret, key);
    await post(stack(), other.secret, key);
    await stack().app.database.rows(
      `update idempotency_key set body = (select body from idempotency_key where account = $2::text)
       where account = $1::text`,
      [mine.account, other.account],
    );
    expect((await post(stack(), mine.secret, key)).code).toBe("idempotency_not_replayable");
    expect(await chargedTo(stack(), mine)).toBe(COST);
  });

  test("is free again after a failure that cost nothing, and then answers", async () => {
    const customer = await newCustomer();
    const key = newId();
    expect((await post(stack(), customer.secret, key, { model: MODEL })).status).toBe(400);
    stack().provider.behaviour = { instead: { status: 500, contentType: "text/plain", body: "no" } };
    expect((await post(stack(), customer.secret, key)).status).toBe(502);
    stack().provider.behaviour = {};
    expect(await keysOf(customer)).toEqual([]);
    expect((await post(stack(), customer.secret, key)).headers.get("idempotent-replayed")).toBeNull();
    const poor = await newCustomer(1n);
    expect((await post(stack(), poor.secret, key)).code).toBe("insufficient_balance");
    expect(await keysOf(poor)).toEqual([]);
  });

  test("replays a stream that was read to its end, event for event", async () => {
    const customer = await newCustomer();
    const key = newId();
    const ask = { ...ASK, stream: true };
    const first = await post(stack(), customer.secret, key, ask);
    expect(first.text).toMatch(/data: \[DONE\]\n\n$/);
    const again = await until(async () => {
      const reply = await post(stack(), customer.secret, key, ask);
      return reply.code === "idempotency_in_progress" ? false : reply;
    });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect([again.text, again.headers.get("content-type")]).toEqual([
      first.text,
      first.headers.get("content-type"),
    ]);
    expect(await chargedTo(stack(), customer)).toBe(COST);
  });

  test("of a stream whose reader disconnected is not executed again, as part of it was charged", async () => {
    const customer = await newCustomer();
    const key = newId();
    const ask = { ...ASK, max_tokens: 50, stream: true };
    stack().provider.behaviour = { chunkDelayMs: 20 };
    const leaving = new AbortController();
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      signal: leaving.signal,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${customer.secret}`,
        "idempotency-key": key,
      },
      body: JSON.stringify(ask),
    });
    await reply.body?.getReader().read();
    expect((await post(stack(), customer.secret, key, ask)).code).toBe("idempotency_in_progress");
    leaving.abort();
    const again = await until(async () => {
      const outcome = await post(stack(), customer.secret, key, ask);
      return outcome.code === "idempotency_in_progress" ? false : outcome;
    });
    stack().provider.behaviour = {};
    expect([again.status, again.code]).toEqual([409, "idempotency_not_replayable"]);
    expect(again.text).toContain(reply.headers.get("x-request-id"));
    expect(await chargedTo(stack(), customer)).toBeGreaterThan(0n);
  });

  test("of a request that returns a secret stores no secret, and creates no second key", async () => {
    const customer = await newCustomer();
    const { app } = stack();
    const { secret: mk } = await app.managementKeys.create(customer.account, "maker", ["keys:create"]);
    const key = newId();
    const first = await post(stack(), mk, key, { name: "made once" }, "/v1/api-keys");
    expect(first.status).toBe(201);
    const again = await post(stack(), mk, key, { name: "made once" }, "/v1/api-keys");
    expect([again.status, again.code]).toEqual([409, "idempotency_not_replayable"]);
    expect(await keysOf(customer)).toEqual([{ state: "secret", body: null }]);
    const { rows } = await app.apiKeys.list(customer.account, { first: 10 });
    expect(rows.filter(({ name }) => name === "made once")).toHaveLength(1);
  });

  test.each(["", " ", "x".repeat(256), "a\tb"])(
    "that is malformed (%j) is refused before anything is done",
    async (key) => {
      const customer = await newCustomer();
      const reply = await stack().server.inject({
        method: "POST",
        url: "/v1/chat/completions",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${customer.secret}`,
          "idempotency-key": key,
        },
        payload: ASK,
      });
      expect([reply.statusCode, reply.json().error.param]).toEqual([400, "Idempotency-Key"]);
      expect(await chargedTo(stack(), customer)).toBe(0n);
    },
  );

  test("that is sent twice is refused before anything is done", async () => {
    const customer = await newCustomer();
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { "content-type": "application/json", authorization: `Bearer ${customer.secret}` };
    request(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { ...headers, "idempotency-key": ["a", "b"] },
    })
      .on("response", resolve)
      .on("error", reject)
      .end(JSON.stringify(ASK));
    const reply = await promise;
    const { error } = (await json(reply)) as { error: { param: string } };
    expect([reply.statusCode, error.param]).toEqual([400, "Idempotency-Key"]);
    expect(await chargedTo(stack(), customer)).toBe(0n);
  });

  test("is deleted after 24 h, in batches; and a request lost with its process is not executed again", async () => {
    const customer = await newCustomer();
    const [old, lost] = [newId(), newId()];
    const { database, idempotency } = stack().app;
    const replies = new Map([
      [old, await post(stack(), customer.secret, old)],
      [lost, await post(stack(), customer.secret, lost)],
    ]);
    const shift = (key: string, set: string) =>
      database.rows(`update idempotency_key set ${set} where request_id = $1::text`, [
        replies.get(key)?.headers.get("x-request-id"),
      ]);
    await shift(lost, "state = 'running', deadline = now() - interval '1 second'");
    expect((await post(stack(), customer.secret, lost)).code).toBe("idempotency_not_replayable");
    await shift(old, "created_at = now() - interval '24 hours 1 second'");
    const again = await post(stack(), customer.secret, old);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, null]);
    replies.set(old, again);
    await shift(old, "created_at = now() - interval '24 hours 1 second'");
    expect(await idempotency.sweep()).toBe(1);
    expect(await keysOf(customer)).toHaveLength(1);
  });

  test("leaves the ledger consistent", async () => {
    const { faults, openHolds } = await new LedgerService(stack().app.database).verify();
    expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
  });
});

/** Sends 20 requests of one key at once. The provider answers when all others are answered. */
async function postTwenty<Reply>(
  { provider }: Pick<Stack, "provider">,
  send: (n: number) => Promise<Reply>,
): Promise<readonly Reply[]> {
  const others = Promise.withResolvers<void>();
  provider.behaviour = { after: others.promise };
  let answered = 0;
  return Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const reply = await send(n);
      if (++answered === 19) others.resolve();
      return reply;
    }),
  );
}

describe.skipIf(!inject("postgresUrl"))("two processes on one database", () => {
  const twins = useTwins();

  test("20 parallel requests over both: one charge and one call; both replay the answer afterwards", async () => {
    const [one, other] = twins();
    const customer = await seedAccount(one.app.database, 1_000_000n);
    const key = newId();
    const replies = await postTwenty(one, (n) => post(n % 2 ? one : other, customer.secret, key));
    one.provider.behaviour = {};
    const [answered, ...others] = replies.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(one.provider.requests).toBe(1);
    expect(await chargedTo(one, customer)).toBe(COST);
    for (const stack of [one, other])
      expect((await post(stack, customer.secret, key)).text).toBe(answered?.text);
  });

  test("a key that another request claims after 24 h is in progress for a third, which gets no answer of before", async () => {
    const [one] = twins();
    const { database } = one.app;
    const customer = await seedAccount(database, 1_000_000n);
    const key = newId();
    expect((await post(one, customer.secret, key)).status).toBe(200);
    const change = (set: string) => `update idempotency_key set ${set} where account = $1::text`;
    await database.rows(change("created_at = now() - interval '25 hours'"), [customer.account]);
    const [claimed, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const claim = database.transaction(async (tx) => {
      await tx.rows(
        change("created_at = now(), state = 'running', body = null, deadline = now() + interval '1 hour'"),
        [customer.account],
      );
      claimed.resolve();
      await committed.promise;
    });
    await claimed.promise;
    const reply = post(one, customer.secret, key);
    await until(async () => (await database.rows(WAITING_CLAIMS)).length > 0);
    committed.resolve();
    await claim;
    expect((await reply).code).toBe("idempotency_in_progress");
    await database.rows("delete from idempotency_key where account = $1::text", [customer.account]);
  });
});

const WAITING_CLAIMS = `
  select 1 from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into idempotency_key%'`;

describe("an Idempotency-Key of a message", () => {
  const stack = useStack();
  useServices(stack, ["messages"]);

  test("takes the version that Anthropic's clients send for none, and compares what they ask for", async () => {
    const customer = await seedAccount(stack().app.database, 1_000_000n);
    const key = newId();
    const body = { model: SERVICES.messages.model, messages, max_tokens: 5 };
    const send = (path: string, sent: Readonly<Record<string, string>>) =>
      post(stack(), customer.secret, key, body, path, sent);
    const version = { "anthropic-version": "2023-06-01" };
    const first = await send("/v1/messages", {});
    const again = await send("/v1/messages?beta=true", version);
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
    const other = await send("/v1/messages", { ...version, "anthropic-beta": "tools-2024" });
    expect(other.status).toBe(422);
  });
});

test("every route that charges or creates accepts the key, and no other does", () => {
  const taking = routes.filter(({ repetition }) => repetition !== undefined);
  // Segments and JSON-RPC calls are idempotent by themselves; a webhook delivers at least once; the file of a batch is
  // stored while it arrives, and costs nothing.
  const deliveries = ["/v1/webhooks/:id/test", "/v1/webhooks/:id/replay"];
  const free = [
    "/v1/routing/preview",
    "/v1/messages/count_tokens",
    "/file/segment",
    "/v1/files",
    "/",
    ...deliveries,
  ];
  const expected = routes.filter(
    ({ method, url }) => method === "POST" && !url.startsWith("/v1/auth/") && !free.includes(url),
  );
  expect(taking.map(({ url }) => url)).toEqual(expected.map(({ url }) => url));
});

test("the documentation names the routes that create something and ignore the key", () => {
  const { info } = toOpenApi(routes) as { info: { description: string } };
  const line = info.description.split("\n").find((text) => text.includes("`Idempotency-Key`")) ?? "";
  const named = [...line.matchAll(/`POST (\/[^`]+)`/g)].map(([, url]) => url);
  const keyless = routes.filter(({ method, repetition }) => method === "POST" && repetition === undefined);
  // These create nothing that outlasts them, or are idempotent by themselves.
  const harmless = [
    "/v1/routing/preview",
    "/v1/messages/count_tokens",
    "/file/segment",
    "/",
    "/v1/webhooks/:id/test",
    "/v1/webhooks/:id/replay",
    "/v1/auth/signout",
  ];
  expect(new Set(named)).toEqual(
    new Set(keyless.map(({ url }) => url).filter((url) => !harmless.includes(url))),
  );
});

test("the hash compares bodies by meaning, and includes path parameters", async () => {
  const hash = (text: string, params = {}) => hashRequest(params, Buffer.from(text));
  expect(await hash('{"a":1,"b":[1,2]}')).toBe(await hash(' {"b":[1.0,2],"a":1e0}'));
  expect(await hash('{"b":[1,2]}')).not.toBe(await hash('{"b":[2,1]}'));
  expect(await hash("{}", { id: "1" })).not.toBe(await hash("{}", { id: "2" }));
  expect(await hash("not json")).not.toBe(await hash("not  json"));
  expect(await hash('"not json"')).not.toBe(await hash("not json"));
  expect(await hash("[".repeat(100_000))).not.toBe(await hash("[".repeat(100_001)));
  expect(await hash(`${"[".repeat(9_999)}${"]".repeat(9_999)}`)).toMatch(/^[0-9a-f]{64}$/);
});

test.each([
  ["9007199254740993", "9007199254740993.0", true],
  ["9007199254740993", "9007199254740992", false],
  ["9007199254740992", "9.007199254740992e15", true],
  ["-12345678901234567890", "-12345678901234567891", false],
  ["12345678901234567890", "1234567890123456789e1", true],
  ["12345678901234567000", "1.2345678901234567e19", true],
  ["1e400", "1e401", false],
  ["1".repeat(1_000), `${"1".repeat(999)}2`, false],
  [`[12345678901234567890${",1".repeat(5_000)}]`, `[12345678901234567891${",1".repeat(5_000)}]`, false],
  ["1e400", "null", false],
  ["1e400", "10e399", true],
  ["0.1", "0.1000000000000000055511151231257827", true],
  ["0.30000000000000004", "0.3", false],
  ["12345678901234567890", '"12345678901234567890"', false],
  ['"\\"12345678901234567890,"', '"\\"12345678901234567891,"', false],
  ['["\\\\",12345678901234567890]', '["\\\\",12345678901234567891]', false],
])("the hash of %s and of %s: equal is %s", async (one, other, areEqual) => {
  const hash = (text: string) => hashRequest({}, Buffer.from(`{"a": ${text}}`));
  expect((await hash(one)) === (await hash(other))).toBe(areEqual);
});

test("the hash of JSON that is not valid is that of its bytes, also with long numbers", async () => {
  for (const text of ["[01234567890123456789]", '["123456789012345678901', "[12345678901234567890"])
    expect(await hashRequest({}, Buffer.from(text))).toBe(
      createHash("sha256").update(`{}\nbytes\n${text}`).digest("hex"),
    );
});

test("the hash of a long body is computed in short turns", async () => {
  const body = Buffer.alloc(25 * 1_048_576, "a");
  let hash = "";
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    hash = await hashRequest({}, body);
  });
  expect(hash).toBe(createHash("sha256").update("{}\nbytes\n").update(body).digest("hex"));
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});

test.each([
  ["a long text", () => `{"a":"${"x".repeat(4_190_000)}"}`],
  ["a text of escapes", () => `{"a":"${"\\u0001".repeat(400_000)}"}`],
  ["halves of pairs", () => `{"a":"${"\\ud83d".repeat(400_000)}"}`],
  ["many quotes and a long number", () => `{"a":"${'\\"'.repeat(1_000_000)}","b":12345678901234567890}`],
  ["many texts", () => JSON.stringify(Array.from({ length: 11_000 }, () => "\u0001".repeat(36)))],
])("the hash of JSON with %s leaves turns to other work", async (_, textOf) => {
  const body = Buffer.from(textOf());
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const hash = await hashRequest({}, body);
  isOver = true;
  // After it is measured, after it is parsed, and while it is serialized and hashed.
  expect(turns).toBeGreaterThan(8);
  const canonical = JSON.stringify(JSON.parse(body.toString())).replace(
    "12345678901234567000",
    "1234567890123456789e1",
  );
  expect(hash).toBe(createHash("sha256").update(`{}\n${canonical}`).digest("hex"));
});

test("the hash of a text is the same however its surrogate pairs are placed", async () => {
  for (const before of [0, 1, 16_383, 16_384, 16_385]) {
    const text = "x".repeat(before) + "\u{1f40c}".repeat(20_000);
    const body = Buffer.from(JSON.stringify({ [text]: [text, ""], z: text }));
    const canonical = `{}\n${JSON.stringify({ z: text, [text]: [text, ""] }, Object.keys({ z: 1, [text]: 1 }).sort())}`;
    expect(await hashRequest({}, body)).toBe(createHash("sha256").update(canonical).digest("hex"));
  }
});
