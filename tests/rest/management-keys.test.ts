// @module-tag medium
import { connect } from "node:net";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { hashSecret } from "../../src/keys/auth/secret.ts";
import { signInAs } from "../support/chain/sign-in.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const PATH = "/v1/management-keys";

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever it asked for
type Reply = { readonly status: number; readonly body: any };

async function call(method: string, path: string, token?: string, body?: unknown): Promise<Reply> {
  const reply = await fetch(`${stack().origin}${path}`, {
    method,
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: reply.status, body: await reply.json() };
}

const session = () => signInAs(stack().origin, privateKeyToAccount(generatePrivateKey()));
const codeOf = ({ status, body }: Reply) => [status, body.error?.code];

async function madeKey(token: string, more: object = { preset: "full-admin" }) {
  const { status, body } = await call("POST", PATH, token, { name: newId(), ...more });
  expect([status, body.error]).toEqual([201, undefined]);
  return body as { key: string; key_id: string; name: string };
}

test("a created key shows its secret once, is listed without it, and works", async () => {
  const { token, account } = await session();
  const made = await call("POST", PATH, token, { name: " ops ", scopes: ["keys:manage", "keys:read"] });
  expect(made.status).toBe(201);
  const { key, ...item } = made.body;
  expect(key).toMatch(/^mk-[0-9A-Za-z]{49}$/);
  expect(item).toEqual({
    key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    key_preview: `${key.slice(0, 8)}…`,
    key_type: "mgmt",
    name: "ops",
    scopes: ["keys:read", "keys:manage"],
    preset: "key-manager",
    status: "active",
    revoked: false,
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    last_used_at: null,
    last_source_ip: null,
  });
  const list = await call("GET", PATH, token);
  expect(list).toEqual({ status: 200, body: { object: "list", data: [item], next_cursor: null } });
  const rows = await stack().app.database.rows("select * from management_key where account = $1::text", [
    account,
  ]);
  expect(JSON.stringify(rows)).not.toContain(key);
  expect(rows).toMatchObject([{ secret_hash: hashSecret(key) }]);
  expect((await stack().app.authenticate(`Bearer ${key}`)).kind).toBe("management-key");
});

test("presets give the scopes of the specification, and conflict with any others", async () => {
  const { token } = await session();
  const scopesOf = async (body: object) =>
    (await call("POST", PATH, token, { name: newId(), ...body })).body.scopes;
  expect(await scopesOf({ preset: "read-only" })).toEqual(["account:read", "keys:read"]);
  expect(await scopesOf({ preset: "key-manager" })).toEqual(["keys:read", "keys:manage"]);
  expect(await scopesOf({ preset: "full-admin" })).toEqual([...SCOPES]);
  expect(await scopesOf({ preset: "custom", scopes: ["keys:create"] })).toEqual(["keys:create"]);
  expect(await scopesOf({ preset: "read-only", scopes: ["keys:read", "account:read"] })).toHaveLength(2);
  for (const wrong of [
    {},
    { preset: "custom" },
    { preset: "admin" },
    { preset: "read-only", scopes: ["keys:read"] },
    { scopes: ["keys:delete"] },
    { scopes: "keys:read" },
  ])
    expect((await call("POST", PATH, token, { name: newId(), ...wrong })).status, JSON.stringify(wrong)).toBe(
      400,
    );
});

test("a name is unique among active keys, also for ten at once, and is free again after", async () => {
  const { token } = await session();
  const body = { name: "ci", preset: "read-only" };
  const replies = await Promise.all(Array.from({ length: 10 }, () => call("POST", PATH, token, body)));
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const reply of replies)
    if (reply.status !== 201) expect(codeOf(reply)).toEqual([409, "duplicate_name"]);
  const first = replies.find(({ status }) => status === 201)?.body;
  const other = await madeKey(token);
  expect(codeOf(await call("PATCH", `${PATH}/${other.key_id}`, token, { name: "ci" }))).toEqual([
    409,
    "duplicate_name",
  ]);
  expect((await call("PATCH", `${PATH}/${first.key_id}`, token, { name: "ci" })).status).toBe(200);
  expect((await call("DELETE", `${PATH}/${first.key_id}`, token)).status).toBe(200);
  expect((await call("POST", PATH, token, body)).status).toBe(201);
  const stranger = await session();
  expect((await call("POST", PATH, stranger.token, body)).status).toBe(201);
});

test("PATCH changes the given fields, leaves null ones unchanged, and new scopes apply from the next call", async () => {
  const { token } = await session();
  const { key, key_id, name } = await madeKey(token, { preset: "read-only" });
  const url = `${PATH}/${key_id}`;
  const scopes = async () => {
    const principal = await stack().app.authenticate(`Bearer ${key}`);
    return principal.kind === "management-key" && principal.scopes;
  };
  const narrowed = await call("PATCH", url, token, { scopes: ["keys:read"], name: null });
  expect(narrowed.body).toMatchObject({ name, scopes: ["keys:read"], preset: "custom" });
  expect(await scopes()).toEqual(["keys:read"]);
  expect((await call("PATCH", url, token, { name: "renamed" })).body).toMatchObject({
    name: "renamed",
    scopes: ["keys:read"],
  });
  expect((await call("PATCH", url, token, {})).body).toMatchObject({ name: "renamed" });
  for (const extra of ["permission", "revoked", "account", "secret", "last_source_ip", "status"])
    expect(codeOf(await call("PATCH", url, token, { [extra]: false }))).toEqual([400, "invalid_body"]);
  expect((await call("PATCH", url, token, '{"__proto__":{"scopes":[]}}')).status).toBe(400);
  for (const bad of ["", "   ", "a".repeat(101), "two\nlines", "\u0007"])
    expect((await call("PATCH", url, token, { name: bad })).status, JSON.stringify(bad)).toBe(400);
  const literal = "'; drop table management_key; --";
  expect((await call("PATCH", url, token, { name: literal })).body.name).toBe(literal);
});

test("a revoked key is refused from its next call on, stays in the list, and cannot be changed or restored", async () => {
  const { token } = await session();
  const { key, key_id } = await madeKey(token);
  expect((await call("DELETE", `${PATH}/${key_id}`, token)).body).toEqual({
    key_id,
    message: "Management key revoked",
  });
  await expect(stack().app.authenticate(`Bearer ${key}`)).rejects.toMatchObject({
    code: "api_key_revoked",
    status: 401,
  });
  for (const body of [{ name: "again" }, {}, { preset: "read-only" }])
    expect(codeOf(await call("PATCH", `${PATH}/${key_id}`, token, body))).toEqual([410, "key_revoked"]);
  expect((await call("DELETE", `${PATH}/${key_id}`, token)).status).toBe(200);
  const ids = async (status: string) =>
    (await call("GET", `${PATH}?status=${status}`, token)).body.data.map(
      (item: Reply["body"]) => item.status,
    );
  expect(await ids("revoked")).toEqual(["revoked"]);
  expect(await ids("active")).toEqual([]);
  expect(await ids("all")).toEqual(["revoked"]);
  expect((await call("GET", `${PATH}?status=expired`, token)).status).toBe(400);
});

test("another wallet's key looks as if it did not exist", async () => {
  const [mine, theirs] = [await session(), await session()];
  const { key_id, key } = await madeKey(theirs.token);
  for (const id of [key_id, newId(), "1", "..%2f..", "%00", "' or 1=1"]) {
    const missing = [404, "management_key_not_found"];
    expect(codeOf(await call("PATCH", `${PATH}/${id}`, mine.token, { name: "x" })), id).toEqual(missing);
    expect(codeOf(await call("DELETE", `${PATH}/${id}`, mine.token)), id).toEqual(missing);
  }
  expect((await call("GET", PATH, mine.token)).body.data).toEqual([]);
  expect((await stack().app.authenticate(`Bearer ${key}`)).kind).toBe("management-key");
});

test("a path that cannot be decoded is refused in the shape of every failure", async () => {
  const { token } = await session();
  const { status, body } = await call("DELETE", `${PATH}/%zz`, token);
  expect([status, body.error.code]).toEqual([400, "invalid_parameter"]);
  expect(body.request_id).toMatch(/^req-/);
});

test("a list is paged by cursor", async () => {
  const { token } = await session();
  const made = [];
  for (let at = 0; at < 5; at++) made.push((await madeKey(token)).key_id);
  const seen: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const query: string = `limit=2${cursor ? `&cursor=${cursor}` : ""}`;
    const { body }: Reply = await call("GET", `${PATH}?${query}`, token);
    expect(body.data.length).toBeLessThanOrEqual(2);
    seen.push(...body.data.map((item: { key_id: string }) => item.key_id));
    cursor = body.next_cursor;
  }
  expect(seen).toEqual(made);
  expect(codeOf(await call("GET", `${PATH}?cursor=nonsense`, token))).toEqual([400, "invalid_cursor"]);
  for (const limit of ["0", "101", "1.5", "x"])
    expect((await call("GET", `${PATH}?limit=${limit}`, token)).status, limit).toBe(400);
});

test("every change is an event of the account, and the secret is in none", async () => {
  const { token, account } = await session();
  const { key, key_id } = await madeKey(token);
  const { scopes } = (await call("PATCH", `${PATH}/${key_id}`, token, { name: "renamed" })).body;
  for (const same of [{}, { name: "renamed" }, { scopes }, { name: " renamed ", scopes }])
    expect((await call("PATCH", `${PATH}/${key_id}`, token, same)).status).toBe(200);
  await call("DELETE", `${PATH}/${key_id}`, token);
  await call("DELETE", `${PATH}/${key_id}`, token);
  const rows = await stack().app.database.rows<{ data: unknown }>(
    "select data from outbox where topic = 'key.changed' and subject = $1::text order by position, id",
    [account],
  );
  expect(rows.map(({ data }) => data)).toEqual(
    ["created", "updated", "revoked"].map((change) => ({
      account,
      keyId: key_id,
      kind: "management-key",
      change,
    })),
  );
  expect(JSON.stringify(rows)).not.toContain(key);
});

describe("a management key, with every scope, cannot manage management keys", () => {
  const spellings = (id: string) => [
    PATH,
    `${PATH}/`,
    `/v1//management-keys`,
    `//v1/management-keys`,
    `/v1/%6danagement-keys`,
    `/v1/%6Danagement%2dkeys`,
    `/%76%31/management-keys`,
    `/v1%2fmanagement-keys`,
    `/v1/management-keys;x`,
    `/v1/management-keys;x=1/${id}`,
    `/v1;a/management-keys`,
    `/v1/./management-keys`,
    `/v1/api-keys/../management-keys`,
    `/v1/models/%2e%2e/management-keys`,
    `/v1/MANAGEMENT-KEYS`,
    `/V1/Management-Keys`,
    `/v1/management-keys%20`,
    `/v1/management-keys%00`,
    `/v1/management-keys?access=session`,
    `/v1/management-keys#x`,
    `/v1\\management-keys`,
    `/v1/management-keys/${id}`,
    `/v1/management-keys//${id}`,
    `/v1/management-keys/./${id}`,
    `/v1/management-keys/%${id.charCodeAt(0).toString(16)}${id.slice(1)}`,
    `/v1/%6danagement-keys/${id}`,
    `/v1/management-keys/${id};x`,
    `/v1/management-keys/${id.toUpperCase()}`,
    `http://127.0.0.1/v1/management-keys`,
  ];

  test("in any spelling of the path, with any method", async () => {
    const { token, account } = await session();
    const victim = await madeKey(token);
    const { secret: mk } = await stack().app.managementKeys.create(account, "thief", SCOPES);
    const { secret: sk } = await seedAccount(stack().app.database, 1n);
    for (const path of spellings(victim.key_id))
      for (const method of ["GET", "POST", "PATCH", "DELETE", "PUT"])
        for (const key of [mk, sk]) {
          const status = await rawStatus(method, path, key);
          expect([400, 403, 404, 405], `${method} ${path}`).toContain(status);
        }
    const keys = (await call("GET", PATH, token)).body.data;
    expect(keys.map((item: { name: string; status: string }) => [item.name, item.status])).toEqual([
      [victim.name, "active"],
      ["thief", "active"],
    ]);
  });

  test("and a session can, by the published spelling", async () => {
    const { token } = await session();
    expect(await rawStatus("GET", PATH, token)).toBe(200);
    expect(await rawStatus("GET", "/v1/MANAGEMENT-KEYS", token)).toBe(404);
  });
});

/** The server's answer to exactly this path, which fetch would normalize. */
function rawStatus(method: string, path: string, key: string): Promise<number> {
  const { port } = new URL(stack().origin);
  const body = method === "GET" ? "" : JSON.stringify({ name: newId(), preset: "full-admin" });
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("end", () => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])));
    socket.on("error", reject);
    // Not `end`: Node takes a half-closed connection for a disconnected client.
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}
