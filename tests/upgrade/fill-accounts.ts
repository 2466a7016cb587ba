import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { depositToVault } from "../../src/devnet/chain/actors.ts";
import { handlesOf } from "../support/chain/agent-chain.ts";
import { signInAs } from "../support/chain/sign-in.ts";
import { until } from "../support/until.ts";
import { call, query, type Target } from "./calls.ts";

/** An account with credentials in every state. Every value is a secret, or an id where the name says so. */
export type FilledAccount = {
  readonly address: Hex;
  readonly privateKey: Hex;
  readonly session: string;
  readonly endedSession: string;
  readonly apiKeys: Readonly<Record<"plain" | "restricted" | "expiring" | "expired" | "revoked", string>>;
  readonly managementKeys: Readonly<Record<"admin" | "reader" | "revoked", string>>;
};

/** An account with one key, whose usage is counted apart. */
export type SmallAccount = { readonly address: Hex; readonly apiKey: string; readonly reader: string };

const TOKEN = 10n ** 18n;
const DEPOSITS = [3n * TOKEN, 1_234_567_890_123_456_789n] as const;
/** The blocks after which a deposit is credited, and some more. */
const CONFIRMATIONS = 12;
const FAR_FUTURE = "2126-01-01T00:00:00.000Z";
const SOON_MS = 1_500;

type Created = { readonly key: string; readonly key_id: string };

/** Opens the main account: two deposits, a session that ended and one that goes on, and keys of every kind. */
export async function fillAccount(target: Target): Promise<FilledAccount> {
  const { privateKey, wallet, address } = await newWallet(target);
  const { token: endedSession } = await signInAs(target.origin, wallet);
  await call(target, "/v1/auth/signout", endedSession, { method: "POST", body: {} });
  await call(target, "/v1/auth/nonce", undefined);
  const { token: session } = await signInAs(target.origin, wallet);
  for (const amountNeuron of DEPOSITS)
    await depositToVault(target.rpcUrl, { fromKey: privateKey, account: address, amountNeuron });
  const managementKeys = await createManagementKeys(target, session);
  const sum = DEPOSITS.reduce((total, amount) => total + amount, 0n);
  await untilCredited(target, managementKeys.reader, sum);
  const apiKeys = await createApiKeys(target, managementKeys.admin);
  return { address, privateKey, session, endedSession, apiKeys, managementKeys };
}

/** Opens an account with one deposit and one key. */
export async function fillSmallAccount(target: Target): Promise<SmallAccount> {
  const { privateKey, wallet, address } = await newWallet(target);
  const { token } = await signInAs(target.origin, wallet);
  await depositToVault(target.rpcUrl, { fromKey: privateKey, account: address, amountNeuron: TOKEN });
  const { key: reader } = await createKey(target, "management-keys", token, {
    name: "reader",
    preset: "read-only",
  });
  await untilCredited(target, reader, TOKEN);
  const { key: apiKey } = await createKey(target, "api-keys", token, { name: "only" });
  return { address, apiKey, reader };
}

async function newWallet({ rpcUrl }: Target) {
  const privateKey = generatePrivateKey();
  const wallet = privateKeyToAccount(privateKey);
  await handlesOf(rpcUrl).client.setBalance({ address: wallet.address, value: 100n * TOKEN });
  return { privateKey, wallet, address: wallet.address.toLowerCase() as Hex };
}

async function untilCredited(target: Target, reader: string, neuron: bigint): Promise<void> {
  await handlesOf(target.rpcUrl).mine(CONFIRMATIONS);
  await until(async () => {
    const data = await query(target, reader, "{ viewer { account { balance { total } } } }");
    return BigInt(data.viewer.account.balance.total) === neuron;
  });
}

async function createManagementKeys(
  target: Target,
  session: string,
): Promise<FilledAccount["managementKeys"]> {
  const create = (name: string, preset: string) =>
    createKey(target, "management-keys", session, { name, preset });
  const admin = await create("admin", "full-admin");
  const reader = await create("reader", "read-only");
  const revoked = await create("revoked", "key-manager");
  await call(target, `/v1/management-keys/${revoked.key_id}`, session, { method: "DELETE" });
  return { admin: admin.key, reader: reader.key, revoked: revoked.key };
}

async function createApiKeys(target: Target, admin: string): Promise<FilledAccount["apiKeys"]> {
  const create = (name: string, settings: object = {}) =>
    createKey(target, "api-keys", admin, { name, ...settings });
  const plain = await create("plain");
  const restricted = await create("restricted", {
    credit_limit: "0.5",
    reset_period: "monthly",
    allowed_models: ["devnet-chat"],
    trust_mode: "verified",
  });
  const expiring = await create("expiring", { expiration: FAR_FUTURE });
  const expired = await create("expired", { expiration: new Date(Date.now() + SOON_MS).toISOString() });
  const revoked = await create("revoked");
  await call(target, `/v1/api-keys/${revoked.key_id}`, admin, { method: "DELETE" });
  // Changed once, so that it has a version of its own.
  await call(target, `/v1/api-keys/${restricted.key_id}`, admin, {
    method: "PATCH",
    body: { credit_limit: "0.75" },
  });
  return {
    plain: plain.key,
    restricted: restricted.key,
    expiring: expiring.key,
    expired: expired.key,
    revoked: revoked.key,
  };
}

function createKey(target: Target, kind: "api-keys" | "management-keys", secret: string, body: object) {
  return call<Created>(target, `/v1/${kind}`, secret, { body });
}
