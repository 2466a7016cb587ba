// @module-tag medium
import { describe, expect, inject, test } from "vitest";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { MODEL } from "../support/chain/network.ts";
import { seedAccount } from "../support/seed.ts";
import { type Stack, useStack, useTwins } from "../support/stack.ts";

const RACING = 200;
const body = JSON.stringify({
  model: MODEL,
  messages: [{ role: "user", content: "What is the sea?" }],
  max_tokens: 4,
});

function chat(origin: string, secret: string, text = body): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: text,
  });
}

async function codeOf(reply: Response): Promise<unknown[]> {
  const { error } = (await reply.json()) as { error?: { code: string } };
  return [reply.status, error?.code];
}

/**
 * 200 calls, spread over these stacks, race one DELETE. A call that starts after its answer is refused, an
 * admitted call is charged once, and no call admitted after the revocation committed is charged.
 */
async function race(stacks: readonly Stack[]): Promise<void> {
  const [first] = stacks;
  if (!first) throw new Error("there is no stack");
  const { app, origin } = first;
  const { account, keyId, secret } = await seedAccount(app.database, 10n ** 18n);
  const { secret: manager } = await app.managementKeys.create(account, "test", SCOPES);
  for (const stack of stacks) expect((await chat(stack.origin, secret)).status).toBe(200);

  let revoked = false;
  let answered = 0;
  let late = 0;
  const call = async (n: number) => {
    const startedAfter = revoked;
    const reply = await chat(stacks[n % stacks.length]?.origin ?? "", secret);
    const [status, code] = await codeOf(reply);
    if (status === 200) answered++;
    else expect([status, code]).toEqual([401, "api_key_revoked"]);
    if (startedAfter) {
      late++;
      expect(status).toBe(401);
    }
  };
  const racing = Array.from({ length: 4 }, async (_, lane) => {
    for (let n = lane; n < RACING; n += 4) await call(n);
  });
  while (answered < RACING / 10)
    await Promise.race([...racing, new Promise((resolve) => setTimeout(resolve, 5))]);
  const reply = await fetch(`${origin}/v1/api-keys/${keyId}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${manager}` },
  });
  expect(reply.status).toBe(200);
  revoked = true;
  const [deleted] = await app.database.rows<{ at: string }>("select clock_timestamp()::text as at");
  await Promise.all(racing);

  expect(late).toBeGreaterThan(0);
  for (const stack of stacks)
    expect(await codeOf(await chat(stack.origin, secret))).toEqual([401, "api_key_revoked"]);
  const [books] = await app.database.rows<{ billed: number; after: number }>(
    `select count(*) filter (where r.total_cost > 0)::int as billed,
       count(*) filter (where r.created_at > $2::timestamptz)::int as after
     from inference_request r where r.api_key_id = $1::uuid`,
    [keyId, deleted?.at],
  );
  expect(books).toEqual({ billed: answered + stacks.length, after: 0 });
}

describe("in one process", () => {
  const stack = useStack();

  test("of 200 calls that race one DELETE, none is admitted or charged after it", () => race([stack()]));

  test("calls with a revoked key that fail before their admission are also answered api_key_revoked", async () => {
    const { app, origin } = stack();
    const { account, keyId, secret } = await seedAccount(app.database, 10n ** 12n);
    expect((await chat(origin, secret)).status).toBe(200);
    await app.apiKeys.revoke(account, keyId);
    for (const text of [
      "{",
      body.replace(MODEL, "none"),
      body.replace("}", ',"stream":true,"model":"none"}'),
    ])
      expect(await codeOf(await chat(origin, secret, text))).toEqual([401, "api_key_revoked"]);
  });

  test("a running stream continues to its end and is charged, and the next call is refused", async () => {
    const { app, origin, provider } = stack();
    const { account, keyId, secret } = await seedAccount(app.database, 10n ** 12n);
    provider.behaviour = { chunkDelayMs: 40 };
    const reply = await chat(
      origin,
      secret,
      JSON.stringify({ ...JSON.parse(body), max_tokens: 12, stream: true }),
    );
    expect(reply.status).toBe(200);
    await app.apiKeys.revoke(account, keyId);
    expect(await codeOf(await chat(origin, secret))).toEqual([401, "api_key_revoked"]);
    expect(await reply.text()).toMatch(/data: \[DONE\]\n\n$/);
    provider.behaviour = {};
    const { rows } = await app.requests.list(account, { first: 10 });
    expect(rows).toMatchObject([{ status: "completed" }]);
    expect(rows[0]?.cost?.total).toBeGreaterThan(0n);
  });
});

describe.skipIf(!inject("postgresUrl"))("in two processes on one PostgreSQL", () => {
  const twins = useTwins();

  test("of 200 calls that race one DELETE, none is admitted or charged after it", () => race(twins()));

  test("limits and restrictions set in one process apply in the other at once", async () => {
    const [one, other] = twins();
    const { account, keyId, secret } = await seedAccount(one.app.database, 10n ** 12n);
    expect((await chat(other.origin, secret)).status).toBe(200);
    await one.app.apiKeys.update(account, keyId, { creditLimit: 1n });
    expect(await codeOf(await chat(other.origin, secret))).toEqual([402, "credit_limit_exceeded"]);
    await one.app.apiKeys.update(account, keyId, { creditLimit: null, allowedModels: ["none"] });
    expect(await codeOf(await chat(other.origin, secret))).toEqual([403, "access_denied"]);
    await one.app.apiKeys.update(account, keyId, { allowedModels: [] });
    expect((await chat(other.origin, secret)).status).toBe(200);
  });
});
