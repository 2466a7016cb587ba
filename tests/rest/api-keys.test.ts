// @module-tag medium
import { describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { SCOPES, type Scope } from "../../src/keys/auth/principal.ts";
import { MODEL } from "../support/chain/network.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const PATH = "/v1/api-keys";

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever it asked for
type Reply = { readonly status: number; readonly body: any };

async function call(method: string, path: string, secret: string, body?: unknown): Promise<Reply> {
  const reply = await fetch(`${stack().origin}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: reply.status, body: await reply.json() };
}

const codeOf = ({ status, body }: Reply) => [status, body.error?.code];

/** An account with balance, and an `mk-` key of it. */
async function manager(scopes: readonly Scope[] = SCOPES) {
  const { account } = await seedAccount(stack().app.database, 1_000_000_000n);
  const { secret } = await stack().app.managementKeys.create(account, newId(), scopes);
  return { account, secret };
}

async function made(secret: string, terms: object = {}): Promise<{ key: string; key_id: string }> {
  const { status, body } = await call("POST", PATH, secret, { name: newId(), ...terms });
  expect([status, body.error]).toEqual([201, undefined]);
  return body;
}

const chat = (secret: string, more: object = {}) =>
  call("POST", "/v1/chat/completions", secret, {
    model: MODEL,
    messages: [{ role: "user", content: "What is the sea?" }],
    max_tokens: 4,
    ...more,
  });

test("a created key shows its secret once, is listed without it, and works", async () => {
  const { secret } = await manager();
  const provider = stack().app.catalogue.providers()[0]?.address ?? "";
  const reply = await call("POST", PATH, secret, {
    label: " ci ",
    credit_limit: "0.5",
    reset_period: "monthly",
    expiration: "2099-01-31T12:00:00+02:00",
    allowed_models: [MODEL, MODEL],
    allowed_providers: [provider.toUpperCase().replace("0X", "0x")],
    trust_mode: "verified",
  });
  expect(reply.status).toBe(201);
  const { key, ...item } = reply.body;
  expect(key).toMatch(/^sk-[0-9A-Za-z]{49}$/);
  expect(item).toEqual({
    key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    key_preview: `${key.slice(0, 8)}…`,
    name: "ci",
    label: "ci",
    permission: "inference",
    status: "active",
    revoked: false,
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    last_used_at: null,
    expires_at: "2099-01-31T10:00:00.000Z",
    credit_limit: "0.5",
    used: "0",
    currency: "0g",
    reset_period: "monthly",
    allowed_models: [MODEL],
    allowed_providers: [provider],
    trust_mode: "verified",
    provider_evidence: null,
    max_input_tokens: null,
    max_input_bytes: null,
    max_output_tokens: null,
    allowed_tools: [],
    blocked_parameters: [],
    verify_tee: false,
  });
  expect((await chat(key)).status).toBe(200);
  const { body } = await call("GET", PATH, secret);
  expect(JSON.stringify(body)).not.toContain(key);
  const listed = body.data.find(({ key_id }: { key_id: string }) => key_id === item.key_id);
  expect(listed).toMatchObject({ name: "ci", used: expect.stringMatching(/^0\.0{10,}\d+$/) });
});

test("a key without limits has none", async () => {
  const { secret } = await manager();
  const { body } = await call("POST", PATH, secret, {
    name: "plain",
    credit_limit: null,
    expiration: "no_expiration",
    trust_mode: null,
  });
  expect(body).toMatchObject({
    expires_at: null,
    credit_limit: null,
    reset_period: "never",
    allowed_models: [],
    allowed_providers: [],
    trust_mode: null,
  });
});

test("an id is accepted in any letter case", async () => {
  const { secret } = await manager();
  const { key_id: id } = await made(secret);
  const path = `${PATH}/${id.toUpperCase()}`;
  expect(await call("PATCH", path, secret, { label: "new" })).toMatchObject({ status: 200 });
  const query = `mutation { updateApiKey(input: { id: "${id.toUpperCase()}", name: "newer" }) { apiKey { name } } }`;
  const { body } = await call("POST", "/graphql", secret, { query });
  expect(body).toEqual({ data: { updateApiKey: { apiKey: { name: "newer" } } } });
  expect(await call("DELETE", path, secret)).toMatchObject({ status: 200, body: { key_id: id } });
});

test("a change is sparse: null leaves a field unchanged, an empty list or text clears it", async () => {
  const { secret } = await manager();
  const terms = {
    credit_limit: 2,
    reset_period: "daily",
    expiration: "2099-01-01T00:00:00Z",
    allowed_models: ["a", "b"],
    trust_mode: "private",
  };
  const { key_id } = await made(secret, terms);
  const one = `${PATH}/${key_id}`;
  const nulls = { name: null, credit_limit: null, allowed_models: null, trust_mode: null, expiration: null };
  const shown = {
    credit_limit: "2",
    reset_period: "daily",
    expires_at: "2099-01-01T00:00:00.000Z",
    allowed_models: ["a", "b"],
    trust_mode: "private",
  };
  expect((await call("PATCH", one, secret, nulls)).body).toMatchObject(shown);
  expect((await call("PATCH", one, secret, {})).body).toMatchObject(shown);
  expect(
    (await call("PATCH", one, secret, { label: "new", trust_mode: "", provider_evidence: "" })).body,
  ).toMatchObject({
    ...shown,
    name: "new",
    trust_mode: null,
    provider_evidence: null,
  });
  const cleared = { credit_limit: "", allowed_models: [], expiration: "", reset_period: "never" };
  expect((await call("PATCH", one, secret, cleared)).body).toMatchObject({
    credit_limit: null,
    allowed_models: [],
    expires_at: null,
    reset_period: "never",
  });
});

test.each([
  ["0.1", "0.1"],
  ["0.0000001", "0.0000001"],
  ["1e-7", "0.0000001"],
  ["1.5E-17", "0.000000000000000015"],
  ["1e-18", "0.000000000000000001"],
  ["123456789.125", "123456789.125"],
  ["1e21", "1000000000000000000000"],
  ["2.5e3", "2500"],
  ["0", "0"],
])("a limit may be the JSON number %s", async (number, shown) => {
  const { secret } = await manager();
  const { status, body } = await call("POST", PATH, secret, `{"name":"number","credit_limit":${number}}`);
  expect([status, body.error]).toEqual([201, undefined]);
  expect((await call("PATCH", `${PATH}/${body.key_id}`, secret, {})).body.credit_limit).toBe(shown);
});

describe("every invalid field is named", () => {
  test.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "x".repeat(101) }, "name"],
    [{ name: "a\u0000b" }, "name"],
    [{ name: "a", label: "b" }, "label"],
    [{ name: "a", credit_limit: "-1" }, "credit_limit"],
    [{ name: "a", credit_limit: "1e3" }, "credit_limit"],
    [{ name: "a", credit_limit: -1e-7 }, "credit_limit"],
    [{ name: "a", credit_limit: 1e-19 }, "credit_limit"],
    [{ name: "a", credit_limit: 1.25e-18 }, "credit_limit"],
    [{ name: "a", credit_limit: "0.0000000000000000001" }, "credit_limit"],
    [{ name: "a", credit_limit: "9".repeat(60) }, "credit_limit"],
    [{ name: "a", reset_period: "yearly" }, "reset_period"],
    [{ name: "a", expiration: "tomorrow" }, "expiration"],
    [{ name: "a", expiration: "2020-01-01T00:00:00Z" }, "expiration"],
    [{ name: "a", allowed_models: [""] }, "allowed_models.0"],
    [{ name: "a", allowed_models: Array(101).fill("m") }, "allowed_models"],
    [{ name: "a", allowed_providers: ["0x1"] }, "allowed_providers.0"],
    [{ name: "a", trust_mode: "standard" }, "trust_mode"],
    [{ name: "a", permission: "admin" }, "permission"],
    [{ name: "a", accountId: "0x1" }, "accountId"],
  ])("%j", async (body, param) => {
    const { secret } = await manager();
    const reply = await call("POST", PATH, secret, body);
    expect([reply.status, reply.body.error.param]).toEqual([400, param]);
  });

  test.each([["permission"], ["scopes"], ["accountId"], ["revoked"], ["status"], ["used"]])(
    "PATCH refuses %s",
    async (field) => {
      const { secret } = await manager();
      const { key_id } = await made(secret);
      expect(codeOf(await call("PATCH", `${PATH}/${key_id}`, secret, { [field]: false }))).toEqual([
        400,
        "invalid_body",
      ]);
    },
  );

  test("a body with a prototype member is refused", async () => {
    const { secret } = await manager();
    for (const body of [
      '{"name":"a","__proto__":{"x":1}}',
      '{"name":"a","constructor":{"prototype":{"x":1}}}',
    ])
      expect(codeOf(await call("POST", PATH, secret, body))).toEqual([400, "invalid_body"]);
  });

  test.each(["constructor", "toString", "__proto__"])("an unknown field %s is named", async (name) => {
    const { secret } = await manager();
    const { status, body } = await call("POST", PATH, secret, `{"name":"a","${name}":1}`);
    expect([status, body.error.param]).toEqual([400, name]);
  });
});

test("a name is unique among the keys that are not revoked", async () => {
  const { secret } = await manager();
  const first = await made(secret, { name: "one" });
  const second = await made(secret, { name: "two" });
  expect(codeOf(await call("POST", PATH, secret, { name: "one" }))).toEqual([409, "duplicate_name"]);
  expect(codeOf(await call("PATCH", `${PATH}/${second.key_id}`, secret, { name: "one" }))).toEqual([
    409,
    "duplicate_name",
  ]);
  await call("DELETE", `${PATH}/${first.key_id}`, secret);
  expect((await call("PATCH", `${PATH}/${second.key_id}`, secret, { name: "one" })).status).toBe(200);
  const other = await manager();
  expect((await call("POST", PATH, other.secret, { name: "one" })).status).toBe(201);
});

test("a key that is revoked, unknown or another account's is answered accordingly", async () => {
  const { secret } = await manager();
  const { key_id } = await made(secret);
  const one = `${PATH}/${key_id}`;
  const stranger = await manager();
  for (const path of [one, `${PATH}/${newId()}`, `${PATH}/x`])
    for (const method of ["PATCH", "DELETE"])
      expect(codeOf(await call(method, path, stranger.secret, {}))).toEqual([404, "api_key_not_found"]);
  expect((await call("DELETE", one, secret)).body).toEqual({ key_id, message: "API key revoked" });
  expect((await call("DELETE", one, secret)).status).toBe(200);
  expect(codeOf(await call("PATCH", one, secret, { name: "again" }))).toEqual([410, "key_revoked"]);
});

test("a list is filtered by status and paged", async () => {
  const { secret, account } = await manager();
  const kept = await made(secret, { name: "kept" });
  const gone = await made(secret, { name: "gone" });
  const late = await made(secret, { name: "late", expiration: "2099-01-01T00:00:00Z" });
  await call("DELETE", `${PATH}/${gone.key_id}`, secret);
  await stack().app.database.rows(
    "update api_key set expires_at = now() - interval '1 s' where id = $1::uuid",
    [late.key_id],
  );
  const names = async (query: string) =>
    (await call("GET", `${PATH}${query}`, secret)).body.data.map(({ name }: { name: string }) => name);
  expect(await names("")).toEqual(["test", "kept", "gone", "late"]);
  expect(await names("?status=active")).toEqual(["test", "kept"]);
  expect(await names("?status=revoked")).toEqual(["gone"]);
  expect(await names("?status=expired")).toEqual(["late"]);
  expect(codeOf(await call("GET", `${PATH}?status=dead`, secret))).toEqual([400, "invalid_parameter"]);
  const first = await call("GET", `${PATH}?limit=3`, secret);
  expect(first.body.data).toHaveLength(3);
  const rest = await call("GET", `${PATH}?limit=3&cursor=${first.body.next_cursor}`, secret);
  expect([rest.body.data.length, rest.body.next_cursor]).toEqual([1, null]);
  expect(codeOf(await chat(late.key))).toEqual([401, "api_key_expired"]);
  expect((await chat(kept.key)).status).toBe(200);
  const { rows } = await stack().app.apiKeys.list(account, { first: 10 }, ["active"]);
  expect(rows.map(({ name }) => name)).toEqual(["test", "kept"]);
});

test("creating, reading and managing keys are separate scopes", async () => {
  const { account } = await manager();
  const withScope = async (scope: Scope) =>
    (await stack().app.managementKeys.create(account, newId(), [scope])).secret;
  const [creator, reader, editor] = [
    await withScope("keys:create"),
    await withScope("keys:read"),
    await withScope("keys:manage"),
  ];
  const { key_id } = await made(creator);
  const one = `${PATH}/${key_id}`;
  const refused = [403, "insufficient_scope"];
  expect(codeOf(await call("POST", PATH, editor, { name: "x" }))).toEqual(refused);
  expect(codeOf(await call("DELETE", one, creator))).toEqual(refused);
  expect(codeOf(await call("PATCH", one, reader, {}))).toEqual(refused);
  expect(codeOf(await call("GET", PATH, editor))).toEqual(refused);
  expect((await call("GET", PATH, reader)).status).toBe(200);
  expect((await call("DELETE", one, editor)).status).toBe(200);
});

describe("restrictions and limits of a key apply from its next call on", () => {
  test("models, providers and trust", async () => {
    const { secret } = await manager();
    const { key, key_id } = await made(secret);
    const one = `${PATH}/${key_id}`;
    const provider = stack().app.catalogue.providers()[0]?.address ?? "";
    const nobody = `0x${"1".repeat(40)}`;
    expect((await chat(key)).status).toBe(200);
    for (const [change, status, code] of [
      [{ allowed_models: ["another"] }, 403, "access_denied"],
      [{ allowed_models: [MODEL] }, 200, undefined],
      [{ allowed_providers: [nobody] }, 403, "access_denied"],
      [{ allowed_providers: [nobody, provider] }, 200, undefined],
      [{ allowed_providers: [], trust_mode: "private" }, 200, undefined],
    ] as const) {
      expect((await call("PATCH", one, secret, change)).status).toBe(200);
      expect(codeOf(await chat(key)), JSON.stringify(change)).toEqual([status, code]);
    }
    expect(codeOf(await chat(key, { model: "another" }))).toEqual([403, "access_denied"]);
  });

  test("the credit limit, to the neuron, and for streams too", async () => {
    const { secret } = await manager();
    const { key, key_id } = await made(secret, { credit_limit: "0" });
    expect(codeOf(await chat(key))).toEqual([402, "credit_limit_exceeded"]);
    expect(codeOf(await chat(key, { stream: true }))).toEqual([402, "credit_limit_exceeded"]);
    await call("PATCH", `${PATH}/${key_id}`, secret, { credit_limit: "0.000000001" });
    const { body } = await chat(key);
    const cost = BigInt(body.x_0g_trace.billing.total_cost);
    const exactly = `0.${(cost * 2n).toString().padStart(18, "0")}`;
    await call("PATCH", `${PATH}/${key_id}`, secret, { credit_limit: exactly });
    expect((await chat(key)).status).toBe(200);
    expect(codeOf(await chat(key))).toEqual([402, "credit_limit_exceeded"]);
  });
});

test("every change of a key is an event of its account", async () => {
  const { account, secret } = await manager();
  const stream = await stack().app.events.follow({ topic: "key.changed", subject: account });
  const { key_id } = await made(secret);
  await call("PATCH", `${PATH}/${key_id}`, secret, { name: newId() });
  await call("DELETE", `${PATH}/${key_id}`, secret);
  const seen: unknown[] = [];
  for await (const { data } of stream) if (data.keyId === key_id && seen.push(data.change) === 3) break;
  expect(seen).toEqual(["created", "updated", "revoked"]);
});

test("what a key has already changes nothing: it is no event, and requests go on by the same allotments", async () => {
  const { account, secret } = await manager();
  const name = newId();
  const expiration = "2099-01-31T12:00:00.000Z";
  const settings = {
    ...{ name, credit_limit: "0.5", reset_period: "monthly", expiration, trust_mode: "" },
    ...{ allowed_models: [MODEL], max_output_tokens: 100, verify_tee: false },
  };
  const { key, key_id } = await made(secret, settings);
  const eventsOf = async (topic: string) =>
    (
      await stack().app.database.rows<{ n: string }>(
        "select count(*)::text as n from outbox where topic = $1::text and subject = $2::text",
        [topic, account],
      )
    )[0]?.n;
  const allotments = () =>
    stack().app.database.rows("select id from allotment where api_key_id = $1::uuid and state <> 'closed'", [
      key_id,
    ]);
  await until(async () => {
    expect((await chat(key)).status).toBe(200);
    expect(await allotments()).not.toEqual([]);
  });
  const before = await eventsOf("key.changed");
  for (const change of [{}, settings, { name }, { allowed_models: [MODEL, MODEL] }])
    expect((await call("PATCH", `${PATH}/${key_id}`, secret, change)).body).toMatchObject({ name });
  expect(await eventsOf("key.changed")).toBe(before);
  await call("PATCH", `${PATH}/${key_id}`, secret, { name: newId() });
  expect(await eventsOf("key.changed")).toBe(String(Number(before) + 1));
  expect(await eventsOf("allotment.recalled")).toBe("0");
  await call("PATCH", `${PATH}/${key_id}`, secret, { max_output_tokens: 50 });
  expect(await eventsOf("allotment.recalled")).toBe("1");
});
