// @module-tag large
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { localSignIn, signInAs } from "../support/chain/sign-in.ts";
import { ask, failureCode, followSocket, unauthorized } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack({ TRUSTED_PROXIES: "127.0.0.1" });
const ends: (() => Promise<unknown>)[] = [];
let remote: Awaited<ReturnType<typeof startRemoteGateway>>;

beforeAll(async () => {
  remote = await startRemoteGateway(stack(), (end) => void ends.unshift(end));
});
afterAll(async () => {
  for (const end of ends) await end();
});

const newWallet = () => privateKeyToAccount(generatePrivateKey());
const session = () => signInAs(stack().origin, newWallet());

const VIEWER = "{ viewer { kind scopes account { address } session { sessionId expiresAt } } }";
const SIGN_IN =
  "mutation ($input: SignInInput!) { signIn(input: $input) { token expiresAt account { address } } }";
const CREATE =
  "mutation ($input: CreateManagementKeyInput!) { createManagementKey(input: $input) { secret managementKey { id name scopes preset status preview } userErrors { field code } } }";
const LIST =
  "{ viewer { account { managementKeys { nodes { id name scopes status lastUsedAt lastSourceIp } } } } }";

describe.each(["local", "remote"] as const)("the graph over %s subgraphs", (kind) => {
  const origin = () => (kind === "local" ? stack().origin : remote.origin);
  const codeOf = async (secret: string | undefined, query: string, variables = {}) =>
    failureCode(await ask(origin(), secret, query, variables));

  test("a wallet signs in, is the viewer, and signs out", async () => {
    const wallet = newWallet();
    const made = await ask(origin(), undefined, "mutation { createSignInNonce { nonce expiresAt } }");
    const message = localSignIn(wallet.address, made.data.createSignInNonce.nonce);
    const signature = await wallet.signMessage({ message });
    const { data } = await ask(origin(), undefined, SIGN_IN, { input: { message, signature } });
    const { token, expiresAt, account } = data.signIn;
    expect(account.address).toBe(wallet.address);
    const viewer = (await ask(origin(), token, VIEWER)).data.viewer;
    expect(viewer).toEqual({
      kind: "WALLET_SESSION",
      scopes: ["ACCOUNT_READ", "KEYS_READ", "KEYS_CREATE", "KEYS_MANAGE"],
      account: { address: wallet.address },
      session: { sessionId: expect.any(String), expiresAt },
    });
    expect(await codeOf(undefined, SIGN_IN, { input: { message, signature } })).toBe("sign_in_refused");
    expect((await ask(origin(), token, "mutation { signOut { endedSessionCount } }")).data).toEqual({
      signOut: { endedSessionCount: 1 },
    });
    const after = await ask(origin(), token, VIEWER);
    expect([after.status, after.errors?.[0]?.extensions?.code]).toEqual([
      unauthorized(origin()),
      "session_ended",
    ]);
  });

  test("signing out everywhere ends every session of the wallet", async () => {
    const wallet = newWallet();
    const tokens = [await signInAs(origin(), wallet), await signInAs(origin(), wallet)].map((s) => s.token);
    const { data } = await ask(
      origin(),
      tokens[0],
      "mutation { signOut(input: { everywhere: true }) { endedSessionCount } }",
    );
    expect(data).toEqual({ signOut: { endedSessionCount: 2 } });
    for (const token of tokens)
      expect(await ask(origin(), token, VIEWER)).toMatchObject({
        status: unauthorized(origin()),
        errors: [{ extensions: { code: "session_ended" } }],
      });
  });

  test("a session creates, changes and revokes management keys, and the secret is shown once", async () => {
    const { token } = await session();
    const created = await ask(origin(), token, CREATE, { input: { name: "ops", preset: "READ_ONLY" } });
    const { secret, managementKey } = created.data.createManagementKey;
    expect(managementKey).toEqual({
      id: expect.any(String),
      name: "ops",
      scopes: ["ACCOUNT_READ", "KEYS_READ"],
      preset: "READ_ONLY",
      status: "ACTIVE",
      preview: `${secret.slice(0, 8)}…`,
    });
    expect((await ask(origin(), secret, VIEWER)).data.viewer.kind).toBe("MANAGEMENT_KEY");
    expect(await codeOf(token, CREATE, { input: { name: "ops", scopes: [] } })).toBe("duplicate_name");
    expect(await codeOf(token, CREATE, { input: { name: "none" } })).toBe("invalid_parameter");
    expect(await codeOf(token, CREATE, { input: { name: "none", preset: "CUSTOM" } })).toBe(
      "invalid_parameter",
    );
    const id = managementKey.id;
    const update =
      "mutation ($id: ID!) { updateManagementKey(input: { id: $id, scopes: [KEYS_MANAGE] }) { managementKey { name scopes preset } userErrors { code } } }";
    expect((await ask(origin(), token, update, { id })).data.updateManagementKey.managementKey).toEqual({
      name: "ops",
      scopes: ["KEYS_MANAGE"],
      preset: "CUSTOM",
    });
    const revoke =
      "mutation ($id: ID!) { revokeManagementKey(input: { id: $id }) { managementKey { status } userErrors { code } } }";
    expect((await ask(origin(), token, revoke, { id })).data.revokeManagementKey.managementKey).toEqual({
      status: "REVOKED",
    });
    expect(await codeOf(secret, VIEWER)).toBe("api_key_revoked");
    expect(await codeOf(token, update, { id })).toBe("key_revoked");
    const list = await ask(origin(), token, LIST);
    expect(list.data.viewer.account.managementKeys.nodes).toMatchObject([{ id, status: "REVOKED" }]);
    expect(JSON.stringify(list)).not.toContain(secret);
    const stranger = await session();
    expect(await codeOf(stranger.token, revoke, { id })).toBe("management_key_not_found");
    expect((await ask(origin(), stranger.token, LIST)).data.viewer.account.managementKeys.nodes).toEqual([]);
  });

  test("no key of any scope reads or manages management keys, and a session runs no inference", async () => {
    const { account } = await session();
    const { secret: mk } = await stack().app.managementKeys.create(account, newId(), SCOPES);
    const { secret: sk } = await seedAccount(stack().app.database, 0n);
    const id = newId();
    const asked: readonly (readonly [string, object])[] = [
      [LIST, {}],
      [CREATE, { input: { name: "x", preset: "FULL_ADMIN" } }],
      [
        "mutation ($id: ID!) { updateManagementKey(input: { id: $id, preset: FULL_ADMIN }) { userErrors { code } } }",
        { id },
      ],
      ["mutation ($id: ID!) { revokeManagementKey(input: { id: $id }) { userErrors { code } } }", { id }],
      ["mutation { signOut(input: { everywhere: true }) { endedSessionCount } }", {}],
    ];
    for (const [query, variables] of asked) {
      expect(await codeOf(mk, query, variables), query).toBe("insufficient_scope");
      if (query !== LIST) {
        expect(await codeOf(sk, query, variables), query).toBe("insufficient_scope");
        expect(await codeOf(undefined, query, variables), query).toBe("missing_authorization");
      }
    }
  });

  test("a failing mutation does not suppress the secret of the one before it", async () => {
    const { token } = await session();
    const { data, errors } = await ask(
      origin(),
      token,
      `mutation {
        first: createManagementKey(input: { name: "a", preset: KEY_MANAGER }) { secret userErrors { code } }
        second: createManagementKey(input: { name: "a", preset: KEY_MANAGER }) { secret userErrors { field message code } }
      }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      first: { secret: expect.stringMatching(/^mk-/), userErrors: [] },
      second: {
        secret: null,
        userErrors: [{ field: "name", message: expect.stringMatching(/\.$/), code: "duplicate_name" }],
      },
    });
  });

  test("the use of a management key is recorded, with the address that a trusted proxy gives", async () => {
    const { token, account } = await session();
    const { secret } = await stack().app.managementKeys.create(account, newId(), ["account:read"]);
    const reply = await fetch(`${origin()}/graphql`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${secret}`,
        "x-forwarded-for": "6.6.6.6, ::ffff:203.0.113.9, 127.0.0.1",
        "x-real-ip": "6.6.6.7",
        forwarded: "for=6.6.6.8",
      },
      body: JSON.stringify({ query: VIEWER }),
    });
    expect(reply.status).toBe(200);
    await stack().app.keyUse.drain();
    const [seen] = await until(async () => {
      const { nodes } = (await ask(origin(), token, LIST)).data.viewer.account.managementKeys;
      return nodes[0].lastUsedAt !== null && nodes;
    });
    expect(seen.lastSourceIp).toBe("203.0.113.9");
  });

  test("a subscription records the use of its key too", async () => {
    const { token, account } = await session();
    const { secret } = await stack().app.managementKeys.create(account, newId(), ["account:read"]);
    const following = await followSocket(origin(), secret, "subscription { balanceChanged { cause } }");
    const [seen] = await until(async () => {
      const { nodes } = (await ask(origin(), token, LIST)).data.viewer.account.managementKeys;
      return nodes[0].lastUsedAt !== null && nodes;
    });
    expect(seen.lastSourceIp).toBe("127.0.0.1");
    await following.stop();
  });
});
