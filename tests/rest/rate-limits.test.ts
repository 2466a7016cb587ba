// @module-tag large
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { parseRedisUrl } from "../../src/events/redis-address.ts";
import { openRedis, type RedisConnection } from "../../src/events/redis-connection.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { MemoryRateLimit } from "../../src/keys/auth/rate-limit.memory.ts";
import { RedisRateLimit } from "../../src/keys/auth/rate-limit.redis.ts";
import type { RateLimit } from "../../src/keys/auth/rate-limit.ts";
import { newSecret } from "../../src/keys/auth/secret.ts";
import { networkOf } from "../../src/keys/auth/source-address.ts";
import { MODEL } from "../support/chain/network.ts";
import { signInAs } from "../support/chain/sign-in.ts";
import { rest } from "../support/clients/rest-client.ts";
import { scaled } from "../support/machine.ts";
import { seedAccount } from "../support/seed.ts";
import { startRedis, type TestRedis } from "../support/servers/redis.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const chatBody = JSON.stringify({
  model: MODEL,
  messages: [{ role: "user", content: "What is the sea?" }],
  max_tokens: 2,
});

async function takeAll(limit: RateLimit, subject: string, times: number): Promise<boolean[]> {
  const quotas = await Promise.all(Array.from({ length: times }, () => limit.take(subject)));
  return quotas.map(({ isOver }) => isOver);
}

describe("over HTTP", () => {
  const stack = useStack({
    RATE_LIMIT_PER_KEY: "5",
    RATE_LIMIT_PER_ADDRESS: "8",
    RATE_LIMIT_FAILURES: "6",
    TRUSTED_PROXIES: "127.0.0.1",
  });

  /** A request from `address`, through a trusted proxy. */
  const send = (path: string, address: string, secret?: string, body?: string) =>
    fetch(`${stack().origin}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        "x-forwarded-for": address,
        ...(secret && { authorization: `Bearer ${secret}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body }),
    });

  test("every answer shows the remaining quota of its key, and a request beyond it is 429 and not charged", async () => {
    const { account, secret } = await seedAccount(stack().app.database, 10n ** 12n);
    const before = Date.now();
    for (let left = 4; left >= 0; left--) {
      const stream = left % 2 === 1;
      const reply = await send(
        "/v1/chat/completions",
        "192.0.2.1",
        secret,
        stream ? chatBody.replace("}]", '}],"stream":true') : chatBody,
      );
      expect(reply.status).toBe(200);
      await reply.text();
      expect(reply.headers.get("x-ratelimit-limit-requests")).toBe("5");
      expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe(String(left));
      const reset = reply.headers.get("x-ratelimit-reset-requests") ?? "";
      expect(reset).toBe(new Date(reset).toISOString());
      expect(Date.parse(reset)).toBeGreaterThan(before);
      expect(Date.parse(reset)).toBeLessThanOrEqual(Date.now() + 60_000);
    }
    // GraphQL spends from the same quota.
    for (const [path, body] of [
      ["/v1/chat/completions", chatBody],
      ["/graphql", '{"query":"{ viewer { kind } }"}'],
    ] as const) {
      const reply = await send(path, "192.0.2.1", secret, body);
      expect(reply.status).toBe(429);
      expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(Number(reply.headers.get("retry-after"))).toBeLessThanOrEqual(60);
      expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe("0");
      expect(reply.headers.get("x-should-retry")).toBe("true");
      // biome-ignore lint/suspicious/noExplicitAny: two shapes of failure
      const refusal: any = await reply.json();
      if (path === "/graphql") expect(refusal.errors[0].extensions.code).toBe("rate_limit_exceeded");
      else
        expect(refusal.error).toEqual({
          code: "rate_limit_exceeded",
          type: "rate_limit_error",
          message: expect.any(String),
          param: null,
        });
    }
    const { rows } = await stack().app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(5);
    const other = await seedAccount(stack().app.database, 10n ** 12n);
    expect((await send("/v1/chat/completions", "192.0.2.1", other.secret, chatBody)).status).toBe(200);
  });

  test("a mutation that the engine refuses is counted once for each of its fields", async () => {
    const { secret } = await seedAccount(stack().app.database, 0n);
    const fields = ["a", "b", "c"].map(
      (key) => `${key}: signOut(input: { everywhere: $all }) { endedSessionCount }`,
    );
    const query = `mutation ($all: Boolean = false) { ${fields.join(" ")} }`;
    const body = JSON.stringify({ query, variables: { all: null } });
    const reply = await send("/graphql", "192.0.2.9", secret, body);
    expect(await reply.json()).toMatchObject({ errors: [{ extensions: { code: "invalid_parameter" } }] });
    expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe("2");
  });

  test("requests without a credential are counted by address, of IPv6 by network", async () => {
    const statuses = async (address: (n: number) => string) => {
      const seen: number[] = [];
      for (let n = 0; n < 9; n++) seen.push((await send("/v1/models", address(n))).status);
      return seen;
    };
    const allowed = Array<number>(8).fill(200);
    expect(await statuses(() => "192.0.2.2")).toEqual([...allowed, 429]);
    expect(await statuses((n) => `2001:db8::${n + 1}`)).toEqual([...allowed, 429]);
    expect(await statuses((n) => `192.0.2.${n + 100}`)).toEqual([...allowed, 200]);
    expect((await send("/v1/chat/completions", "192.0.2.2", undefined, chatBody)).status).toBe(429);
  });

  test("wrong credentials are counted by address, and valid ones from that address still pass", async () => {
    const { app } = stack();
    const { account, secret } = await seedAccount(app.database, 10n ** 12n);
    const reader = await app.managementKeys.create(account, "reader", ["account:read"]);
    const { token: session } = await signInAs(stack().origin, privateKeyToAccount(generatePrivateKey()));
    const address = "192.0.2.3";
    for (let n = 0; n < 6; n++)
      expect((await send("/v1/account/balance", address, newSecret("mk-"))).status).toBe(401);
    for (const wrong of [newSecret("mk-"), newSecret("sk-"), "sk-1"]) {
      const reply = await send("/v1/account/balance", address, wrong);
      expect([reply.status, reply.headers.has("retry-after")]).toEqual([429, true]);
    }
    // None of these was seen before, and none is cached.
    expect((await send("/v1/chat/completions", address, secret, chatBody)).status).toBe(200);
    expect((await send("/v1/account/balance", address, reader.secret)).status).toBe(200);
    expect((await send("/v1/auth/me", address, session)).status).toBe(200);
    expect((await send("/v1/account/balance", address, newSecret("mk-"))).status).toBe(429);
    expect((await send("/v1/account/balance", "192.0.2.4", newSecret("mk-"))).status).toBe(401);
  });
});

describe("a JSON-RPC batch", () => {
  const stack = useStack({ RATE_LIMIT_PER_ADDRESS: "20", TRUSTED_PROXIES: "127.0.0.1" });

  const callRpc = async (address: string, calls: number) => {
    const batch = Array.from({ length: calls }, (_, id) => ({ jsonrpc: "2.0", id, method: "zgs_getStatus" }));
    const reply = await fetch(stack().origin, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify(batch),
    });
    const left = reply.headers.get("x-ratelimit-remaining-requests");
    return { status: reply.status, left, headers: reply.headers, body: await reply.json() };
  };

  test("counts as many requests as it has calls", async () => {
    const first = await callRpc("192.0.2.1", 12);
    expect([first.status, first.left]).toEqual([200, "8"]);
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("20");
    expect(first.body).toHaveLength(12);
    const second = await callRpc("192.0.2.1", 8);
    expect([second.status, second.left]).toEqual([200, "0"]);
    expect((await callRpc("192.0.2.1", 1)).status).toBe(429);
    // A separate quota per client.
    expect((await callRpc("192.0.2.2", 1)).status).toBe(200);
  });

  test("of more calls than are left is refused whole, before any of them is run", async () => {
    const refused = await callRpc("192.0.2.3", 30);
    expect([refused.status, refused.left]).toEqual([429, "0"]);
    expect(refused.headers.get("x-ratelimit-limit-requests")).toBe("20");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(refused.body).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: expect.any(Number) } });
    const reset = Date.parse(refused.headers.get("x-ratelimit-reset-requests") ?? "");
    expect(reset).toBeGreaterThan(Date.now());
  });
});

describe("without limits", () => {
  const stack = useStack({ RATE_LIMIT_PER_KEY: "0", RATE_LIMIT_PER_ADDRESS: "0" });

  test("nothing is counted", async () => {
    const reply = await fetch(`${stack().origin}/v1/models`);
    expect([reply.status, reply.headers.has("x-ratelimit-limit-requests")]).toEqual([200, false]);
  });

  test("a key shows -1, which OpenRouter's official SDK reads", async () => {
    const { secret } = await seedAccount(stack().app.database, 0n);
    const { body } = await rest(stack().origin, "/v1/key", secret);
    expect(body).toMatchObject({ data: { rate_limit: { requests: -1, interval: "60s" } } });
  });
});

test("one client is an IPv4 address or an IPv6 network", () => {
  expect(
    ["192.0.2.1", "2001:db8::1", "2001:db8:0:0:1::", "::1", "2001:db8:1:2:3:4:5:6"].map(networkOf),
  ).toEqual(["192.0.2.1", "2001:db8:0:0::/64", "2001:db8:0:0::/64", "0:0:0:0::/64", "2001:db8:1:2::/64"]);
});

const hasRedis = inject("redisUrl") !== undefined;
/** On a busy machine Redis may not respond within the usual time, after which a process counts by itself. */
const PATIENT_MS = 300_000;

describe.each(["memory", "redis"] as const)("a limit in %s", (kind) => {
  let redis: { server: TestRedis; connection: RedisConnection } | undefined;
  beforeAll(async () => {
    if (kind === "memory" || !hasRedis) return;
    const server = await startRedis();
    redis = { server, connection: await openRedis(parseRedisUrl(server.url), () => {}).connect() };
  });
  afterAll(async () => {
    redis?.connection.destroy();
    await redis?.server.stop();
  });
  const limitOf = (limit: number, timeoutMs?: number): RateLimit =>
    redis
      ? new RedisRateLimit(redis.connection, "test", limit, timeoutMs === undefined ? {} : { timeoutMs })
      : new MemoryRateLimit(limit);

  test.skipIf(kind === "redis" && !hasRedis)(
    "admits exactly its number of requests, for each subject, in any parallelism",
    async () => {
      const limit = limitOf(20, PATIENT_MS);
      const [one, other] = [newId(), newId()];
      const over = await takeAll(limit, one, 50);
      expect(over.filter((isOver) => !isOver)).toHaveLength(20);
      expect(await limit.take(one)).toMatchObject({ limit: 20, remaining: 0, isOver: true });
      expect(await limit.take(other)).toMatchObject({ limit: 20, remaining: 19, isOver: false });
    },
  );

  test.skipIf(kind === "memory" || !hasRedis)("is shared by all processes", async () => {
    const subject = newId();
    const both = await Promise.all(
      [limitOf(20, PATIENT_MS), limitOf(20, PATIENT_MS)].map((limit) => takeAll(limit, subject, 20)),
    );
    expect(both.flat().filter((isOver) => !isOver)).toHaveLength(20);
  });

  test.skipIf(kind === "memory" || !hasRedis)(
    "is counted locally while Redis hangs or is gone, and in Redis again afterwards",
    async () => {
      if (!redis) throw new Error("Redis was started before");
      const { server, connection } = redis;
      for (const [fail, heal] of [
        [async () => server.freeze(), async () => server.thaw()],
        [() => server.kill(), () => server.start()],
      ] as const) {
        const limit = limitOf(20);
        const subject = newId();
        expect((await limit.take(subject)).remaining).toBe(19);
        await fail();
        const since = performance.now();
        expect((await takeAll(limit, subject, 30)).filter((isOver) => !isOver)).toHaveLength(20);
        expect(performance.now() - since).toBeLessThan(scaled(1_000));
        const quick = performance.now();
        await limit.take(newId());
        expect(performance.now() - quick).toBeLessThan(scaled(240));
        await heal();
        await until(() => connection.isReady);
        const after = newId();
        await until(async () => {
          await limit.take(after);
          return (await connection.keys(`*${after}`)).length > 0;
        });
      }
    },
  );
});
