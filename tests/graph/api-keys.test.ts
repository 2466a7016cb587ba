// @module-tag medium
import { expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { SCOPES, type Scope } from "../../src/keys/auth/principal.ts";
import { ask, failureCode, unauthorized } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const PROVIDER = `0x${"aB".repeat(20)}`;

const TERMS =
  "name status expiresAt creditLimit used resetPeriod allowedModels allowedProviders trustMode providerEvidence permission lastUsedAt";
const CREATE = `mutation ($name: String!, $limit: Neuron, $at: DateTime, $models: [String!], $providers: [Address!]) {
  createApiKey(input: { name: $name, creditLimit: $limit, resetPeriod: WEEKLY, expiresAt: $at, allowedModels: $models,
    allowedProviders: $providers, trustMode: VERIFIED, providerEvidence: BOUND }) {
    secret apiKey { id keyId ${TERMS} } userErrors { code } } }`;

async function manager(scopes: readonly Scope[] = SCOPES) {
  const { account, keyId } = await seedAccount(stack().app.database, 1_000_000n);
  const { secret } = await stack().app.managementKeys.create(account, newId(), scopes);
  return { account, keyId, secret, ask: askAs(secret) };
}

const askAs =
  (secret: string) =>
  (query: string, variables: object = {}) =>
    ask(stack().origin, secret, query, variables);

test("a key created by a mutation shows its secret once, is the key that REST lists, and is changed and revoked", async () => {
  const { secret: manage, ask } = await manager();
  const created = await ask(CREATE, {
    name: "graph",
    limit: "1500000000000000000",
    at: "2099-01-01T00:00:00Z",
    models: ["m"],
    providers: [PROVIDER],
  });
  expect(created.errors).toBeUndefined();
  const { secret, apiKey } = created.data.createApiKey;
  expect(secret).toMatch(/^sk-[0-9A-Za-z]{49}$/);
  const { id, keyId, ...terms } = apiKey;
  expect(terms).toEqual({
    name: "graph",
    status: "ACTIVE",
    expiresAt: "2099-01-01T00:00:00.000Z",
    creditLimit: "1500000000000000000",
    used: "0",
    resetPeriod: "WEEKLY",
    allowedModels: ["m"],
    allowedProviders: [expect.stringMatching(new RegExp(PROVIDER, "i"))],
    trustMode: "VERIFIED",
    providerEvidence: "BOUND",
    permission: "INFERENCE",
    lastUsedAt: null,
  });
  const rest = await fetch(`${stack().origin}/v1/api-keys`, {
    headers: { authorization: `Bearer ${manage}` },
  });
  const text = await rest.text();
  expect(text).not.toContain(secret);
  expect(JSON.parse(text).data).toMatchObject([
    { name: "test" },
    { key_id: keyId, name: "graph", credit_limit: "1.5", reset_period: "weekly" },
  ]);

  const change = `mutation ($id: ID!) { updateApiKey(input: { id: $id, name: "new", creditLimit: null,
    allowedModels: [], clear: [EXPIRES_AT, TRUST_MODE, PROVIDER_EVIDENCE] }) {
    apiKey { ${TERMS} } userErrors { code } } }`;
  expect((await ask(change, { id })).data.updateApiKey.apiKey).toMatchObject({
    name: "new",
    creditLimit: "1500000000000000000",
    expiresAt: null,
    trustMode: null,
    providerEvidence: null,
    allowedModels: [],
    allowedProviders: [expect.any(String)],
  });
  const both = `mutation ($id: ID!) { updateApiKey(input: { id: $id, creditLimit: "5", maxInputTokens: null,
    clear: [MAX_INPUT_TOKENS, CREDIT_LIMIT] }) { apiKey { keyId } userErrors { field message code } } }`;
  expect((await ask(both, { id })).data.updateApiKey).toEqual({
    apiKey: null,
    userErrors: [
      {
        field: "clear.1",
        message: "clear.1: The limit creditLimit cannot be set and removed at once.",
        code: "invalid_parameter",
      },
    ],
  });
  const revoke = "mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { status } } }";
  for (let times = 0; times < 2; times++)
    expect((await ask(revoke, { id })).data).toEqual({
      revokeApiKey: { apiKey: { status: "REVOKED" } },
    });
  expect(failureCode(await ask(change, { id }))).toBe("key_revoked");
  const list = `query ($statuses: [KeyStatus!]) { viewer { account { apiKeys(filter: { statuses: $statuses }, first: 5) {
    nodes { name } pageInfo { hasNextPage } } } } }`;
  const namesOf = async (statuses: readonly string[] | null) =>
    (await ask(list, { statuses })).data.viewer.account.apiKeys.nodes.map(
      ({ name }: { name: string }) => name,
    );
  expect(await namesOf(null)).toEqual(["test", "new"]);
  expect(await namesOf(["ACTIVE"])).toEqual(["test"]);
  expect(await namesOf(["REVOKED"])).toEqual(["new"]);
  expect(await namesOf(["REVOKED", "EXPIRED", "ACTIVE"])).toEqual(["test", "new"]);
  for (const statuses of [["EXPIRED"], []]) expect(await namesOf(statuses)).toEqual([]);
});

test("each mutation needs its own scope, and another account's key is not found", async () => {
  const owner = await manager();
  const id = owner.keyId;
  const code = async (secret: string, query: string) => failureCode(await askAs(secret)(query, {}));
  const withScope = async (scope: Scope) =>
    (await stack().app.managementKeys.create(owner.account, newId(), [scope])).secret;
  const create = `mutation { createApiKey(input: { name: "${newId()}" }) { secret userErrors { code } } }`;
  const update = `mutation { updateApiKey(input: { id: "${id}", name: "x" }) { userErrors { code } } }`;
  const revoke = `mutation { revokeApiKey(input: { id: "${id}" }) { userErrors { code } } }`;
  const [creator, editor] = [await withScope("keys:create"), await withScope("keys:manage")];
  expect(await code(editor, create)).toBe("insufficient_scope");
  expect(await code(creator, update)).toBe("insufficient_scope");
  expect(await code(creator, revoke)).toBe("insufficient_scope");
  const stranger = await manager();
  expect(await code(stranger.secret, update)).toBe("api_key_not_found");
  expect(await code(stranger.secret, revoke)).toBe("api_key_not_found");
  expect(await code(creator, create)).toBeUndefined();
  expect(await code(creator, create)).toBe("duplicate_name");
  expect(await code(editor, revoke)).toBeUndefined();
});

test("a revoked key is refused by GraphQL at once", async () => {
  const { app, origin } = stack();
  const { account, keyId, secret } = await seedAccount(app.database, 1_000n);
  expect((await ask(origin, secret, "{ viewer { kind } }")).data.viewer.kind).toBe("API_KEY");
  await app.apiKeys.revoke(account, keyId);
  expect(await ask(origin, secret, "{ viewer { kind } }")).toMatchObject({
    status: unauthorized(origin),
    errors: [{ extensions: { code: "api_key_revoked" } }],
  });
});

test("a key is created once for an idempotency key, and its secret is not answered again", async () => {
  const { ask: asManager, account } = await manager();
  const create = `mutation ($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret apiKey { name } userErrors { code } } }`;
  const input = { name: newId(), creditLimit: "5", idempotencyKey: newId() };
  const taken = await asManager(create, { input: { name: "test", idempotencyKey: newId() } });
  expect(taken.data.createApiKey).toMatchObject({ secret: null, userErrors: [{ code: "duplicate_name" }] });
  const both = await Promise.all([asManager(create, { input }), asManager(create, { input })]);
  const made = both.filter(({ data }) => data.createApiKey?.secret);
  expect(made).toHaveLength(1);
  const codes = both.filter((answer) => !made.includes(answer)).map(failureCode);
  expect(["idempotency_in_progress", "idempotency_not_replayable"]).toContain(codes[0]);
  expect(failureCode(await asManager(create, { input }))).toBe("idempotency_not_replayable");
  const other = { ...input, creditLimit: "6" };
  expect(failureCode(await asManager(create, { input: other }))).toBe("idempotency_key_reused");
  const { rows } = await stack().app.apiKeys.list(account, { first: 10 });
  expect(rows.map(({ name }) => name)).toEqual(["test", input.name]);
});
