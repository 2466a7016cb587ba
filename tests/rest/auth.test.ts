// @module-tag medium
import {
  encodeFunctionData,
  getAddress,
  getCreate2Address,
  type Hex,
  serializeErc6492Signature,
  zeroHash,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet } from "../../src/devnet/chain/chain-client.ts";
import { lowerHex } from "../../src/kernel/text/hex.ts";
import { hashSecret, newSecret } from "../../src/keys/auth/secret.ts";
import { SessionSweep } from "../../src/keys/sessions/session-sweep.runner.ts";
import { NOTES } from "../../src/rest/openapi/openapi-notes.ts";
import { localSignIn, type SignInFields, signInAs } from "../support/chain/sign-in.ts";
import { compileWallets, walletFactoryAbi } from "../support/chain/wallets.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

type Reply = { readonly status: number; readonly headers: Headers; readonly body: Answer };
// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever it asked for
type Answer = any;

async function call(method: string, path: string, token?: string, body?: unknown): Promise<Reply> {
  const reply = await fetch(`${stack().origin}${path}`, {
    method,
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: reply.status, headers: reply.headers, body: await reply.json() };
}

const newWallet = () => privateKeyToAccount(generatePrivateKey());
const newNonce = async () => (await call("GET", "/v1/auth/nonce")).body.nonce as string;
const present = (message: string, signature: Hex) =>
  call("POST", "/v1/auth/signin", undefined, { message, signature });

async function attempt(fields: SignInFields): Promise<Reply> {
  const wallet = newWallet();
  const message = localSignIn(wallet.address, await newNonce(), fields);
  return present(message, await wallet.signMessage({ message }));
}

async function codeOf(reply: Promise<Reply>): Promise<readonly [number, string | undefined]> {
  const { status, body } = await reply;
  return [status, body.error?.code];
}

const REFUSED = [401, "sign_in_refused"] as const;

test("a nonce has 128 bits, is unique, lives 5 minutes and is not cached", async () => {
  const replies = await Promise.all(Array.from({ length: 20 }, () => call("GET", "/v1/auth/nonce")));
  expect(new Set(replies.map(({ body }) => body.nonce)).size).toBe(20);
  for (const { status, headers, body } of replies) {
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(body.nonce).toMatch(/^[0-9a-f]{32}$/);
    const lifeMs = Date.parse(body.expires_at) - Date.now();
    expect(lifeMs).toBeGreaterThan(290_000);
    expect(lifeMs).toBeLessThanOrEqual(301_000);
  }
});

test("a signed message opens a session of 12 h, of whose token only the hash is stored", async () => {
  const wallet = newWallet();
  const message = localSignIn(wallet.address, await newNonce());
  const reply = await present(message, await wallet.signMessage({ message }));
  expect(reply.status).toBe(200);
  const { token, expires_at, wallet_address } = reply.body;
  expect(token).toMatch(/^ws-[0-9A-Za-z]{49}$/);
  expect(wallet_address).toBe(lowerHex(wallet.address));
  const lifeMs = Date.parse(expires_at) - Date.now();
  expect(lifeMs).toBeGreaterThan(43_100_000);
  expect(lifeMs).toBeLessThanOrEqual(43_201_000);
  const me = await call("GET", "/v1/auth/me", token);
  expect(me.body).toEqual({ auth_type: "session", wallet_address, expires_at });
  const rows = await stack().app.database.rows("select * from wallet_session where account = $1::text", [
    wallet_address,
  ]);
  expect(JSON.stringify(rows)).not.toContain(token);
  expect(rows).toMatchObject([{ token_hash: hashSecret(token) }]);
});

test("a nonce is good for one of two concurrent sign-ins, and a foreign nonce for none", async () => {
  const wallet = newWallet();
  const message = localSignIn(wallet.address, await newNonce());
  const signature = await wallet.signMessage({ message });
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async () => (await present(message, signature)).status),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 401)).toHaveLength(9);
  expect(await codeOf(present(message, signature))).toEqual(REFUSED);
  expect(await codeOf(attempt({ nonce: "0123456789abcdef0123456789abcdef" }))).toEqual(REFUSED);
});

test("a nonce is used up by a wrong signature, and expires", async () => {
  const wallet = newWallet();
  const message = localSignIn(wallet.address, await newNonce());
  const wrong = await newWallet().signMessage({ message });
  expect(await codeOf(present(message, wrong))).toEqual(REFUSED);
  expect(await codeOf(present(message, await wallet.signMessage({ message })))).toEqual(REFUSED);
  const late = localSignIn(wallet.address, await newNonce());
  await stack().app.database.rows("update sign_in_nonce set expires_at = now() - interval '1 second'");
  expect(await codeOf(present(late, await wallet.signMessage({ message: late })))).toEqual(REFUSED);
});

test("a message with the shape of the documented example opens a session", async () => {
  const wallet = newWallet();
  const example = NOTES["POST /v1/auth/signin"]?.example as { message: string } | undefined;
  const message = (example?.message ?? "")
    .replace("0x…", wallet.address)
    .replaceAll("app.example.com", "localhost:5173")
    .replace("https:", "http:")
    .replace("Nonce: …", `Nonce: ${await newNonce()}`)
    .replace(/Issued At: .*/, `Issued At: ${new Date().toISOString()}`);
  const { status } = await present(message, await wallet.signMessage({ message }));
  expect(status).toBe(200);
});

test.each<[string, SignInFields]>([
  ["domain", { domain: "evil.example" }],
  ["URI", { uri: "https://evil.example/" }],
  ["chain id", { chainId: 16_661 }],
  ["version", { version: "2" }],
  ["end", { expirationTime: "2020-01-01T00:00:00Z" }],
  ["beginning", { notBefore: "2100-01-01T00:00:00Z" }],
  ["date of issue", { issuedAt: new Date(Date.now() + 120_000).toISOString() }],
  ["calendar", { expirationTime: "2100-02-31T00:00:00Z" }],
  ["checksum", { address: "0x90f79bf6eb2c4f870365e785982e1f101e93b906" }],
])("a message with the wrong %s opens no session", async (_, fields) => {
  const reply = await attempt(fields);
  expect([reply.status, reply.body.error.code, reply.body.error.param]).toEqual([...REFUSED, "message"]);
});

test("an invalid sign-in body is refused by name, and its prototype members have no effect", async () => {
  const bodies = [
    {},
    { message: 1, signature: "0x12" },
    { message: "a", signature: "0x1" },
    [],
    "text",
    null,
  ];
  for (const body of bodies)
    expect(await codeOf(call("POST", "/v1/auth/signin", undefined, body))).toEqual([400, "invalid_body"]);
  const extra = { message: "a", signature: "0x12", account: "0x90f79bf6eb2c4f870365e785982e1f101e93b906" };
  expect(await codeOf(call("POST", "/v1/auth/signin", undefined, extra))).toEqual([400, "invalid_body"]);
  const reply = await fetch(`${stack().origin}/v1/auth/signin`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"message":"a","signature":"0x12","__proto__":{"polluted":true}}',
  });
  expect(reply.status).toBe(400);
  expect("polluted" in {}).toBe(false);
});

describe("a session", () => {
  test("ends alone by signing out; its token is then invalid", async () => {
    const wallet = newWallet();
    const [first, second] = [await signInAs(stack().origin, wallet), await signInAs(stack().origin, wallet)];
    expect(first.token).not.toBe(second.token);
    const out = await call("POST", "/v1/auth/signout", first.token);
    expect([out.status, out.body]).toEqual([200, { message: "Signed out", sessions_ended: 1 }]);
    expect(await codeOf(call("GET", "/v1/auth/me", first.token))).toEqual([401, "session_ended"]);
    expect((await call("GET", "/v1/auth/me", second.token)).status).toBe(200);
  });

  test("ends with all others of its wallet, and with none of another wallet", async () => {
    const wallet = newWallet();
    const mine = [await signInAs(stack().origin, wallet), await signInAs(stack().origin, wallet)];
    const other = await signInAs(stack().origin, newWallet());
    const out = await call("POST", "/v1/auth/signout", mine[0]?.token, { all: true });
    expect(out.body.sessions_ended).toBe(2);
    for (const { token } of mine)
      expect(await codeOf(call("GET", "/v1/auth/me", token))).toEqual([401, "session_ended"]);
    expect((await call("GET", "/v1/auth/me", other.token)).status).toBe(200);
  });

  test("that has expired is not counted among those that are ended", async () => {
    const wallet = newWallet();
    const mine = [await signInAs(stack().origin, wallet), await signInAs(stack().origin, wallet)];
    await stack().app.database.rows(
      "update wallet_session set expires_at = now() where account = $1::text and token_hash = $2::text",
      [mine[0]?.account, hashSecret(mine[0]?.token ?? "")],
    );
    const out = await call("POST", "/v1/auth/signout", mine[1]?.token, { all: true });
    expect(out.body.sessions_ended).toBe(1);
  });

  test("ends after its lifetime, and is then deleted with the unused nonces", async () => {
    const { token, account } = await signInAs(stack().origin, newWallet());
    const { database, log } = stack().app;
    const nonce = await newNonce();
    await database.rows(
      "update wallet_session set expires_at = now() - interval '1 second' where account = $1::text",
      [account],
    );
    await database.rows(
      "update sign_in_nonce set expires_at = now() - interval '1 second' where nonce = $1::text",
      [nonce],
    );
    expect(await codeOf(call("GET", "/v1/auth/me", token))).toEqual([401, "session_ended"]);
    expect(await new SessionSweep(database, log).sweep()).toBeGreaterThanOrEqual(2);
    const left = "select 1 from wallet_session where account = $1::text";
    expect(await database.rows(left, [account])).toEqual([]);
    expect(await database.rows("select 1 from sign_in_nonce where nonce = $1::text", [nonce])).toEqual([]);
  });

  test("is refused for inference, and keys are not accepted as a session", async () => {
    const { token } = await signInAs(stack().origin, newWallet());
    const chat = { model: "test-chat", messages: [{ role: "user", content: "hi" }] };
    const refused = [403, "insufficient_scope"];
    expect(await codeOf(call("POST", "/v1/chat/completions", token, chat))).toEqual(refused);
    const { account, secret } = await seedAccount(stack().app.database, 1_000n);
    const management = await stack().app.managementKeys.create(account, "all", [
      "account:read",
      "keys:read",
      "keys:create",
      "keys:manage",
    ]);
    for (const key of [secret, management.secret]) {
      expect(await codeOf(call("GET", "/v1/auth/me", key))).toEqual(refused);
      expect(await codeOf(call("POST", "/v1/auth/signout", key))).toEqual(refused);
    }
    expect(await codeOf(call("GET", "/v1/auth/me"))).toEqual([401, "missing_authorization"]);
  });

  test("is not opened by an invented token, one in the URL, or one with a letter changed", async () => {
    const { token } = await signInAs(stack().origin, newWallet());
    const changed = `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`;
    expect(await codeOf(call("GET", "/v1/auth/me", changed))).toEqual([401, "invalid_api_key"]);
    expect(await codeOf(call("GET", "/v1/auth/me", newSecret("ws-")))).toEqual([401, "session_ended"]);
    const inUrl = await codeOf(call("GET", `/v1/auth/me?token=${token}`));
    expect(inUrl[0]).not.toBe(200);
  });
});

describe("a contract wallet", () => {
  const codeOfWallet = compileWallets();

  test("signs in as its own account by EIP-1271, and before it is deployed by ERC-6492", async () => {
    const owner = newWallet();
    const client = await connectDevnet(stack().rpcUrl, DEPLOYER.privateKey);
    const deploy = async (data: Hex) => {
      const hash = await client.sendTransaction({ data });
      const { contractAddress } = await client.waitForTransactionReceipt({ hash });
      return contractAddress as Hex;
    };
    const signed = async (address: Hex) => {
      const message = localSignIn(getAddress(address), await newNonce());
      return { message, signature: await owner.signMessage({ message }) };
    };
    const there = await deploy(codeOfWallet("KeyWallet", owner.address));
    const first = await signed(there);
    expect((await present(first.message, first.signature)).body.wallet_address).toBe(lowerHex(there));

    const factory = await deploy(codeOfWallet("WalletFactory"));
    const bytecode = codeOfWallet("KeyWallet", owner.address);
    const notYet = getCreate2Address({ from: factory, salt: zeroHash, bytecode });
    const data = encodeFunctionData({
      abi: walletFactoryAbi,
      functionName: "deploy",
      args: [owner.address],
    });
    const second = await signed(notYet);
    const wrapped = serializeErc6492Signature({ address: factory, data, signature: second.signature });
    expect((await present(second.message, wrapped)).body.wallet_address).toBe(lowerHex(notYet));

    for (const name of ["RevertingWallet", "BurningWallet", "BulkyWallet", "StrictWallet"]) {
      const { message, signature } = await signed(await deploy(codeOfWallet(name)));
      expect(await codeOf(present(message, signature)), name).toEqual(REFUSED);
    }
  });
});
