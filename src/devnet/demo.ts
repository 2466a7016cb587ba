import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { App } from "../app.ts";
import { NEURON_PER_TOKEN } from "../kernel/text/amount.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { SCOPES } from "../keys/auth/principal.ts";
import { DEMO_USER } from "./chain/accounts.ts";
import { depositToVault } from "./chain/actors.ts";
import type { Devnet } from "./devnet.ts";
import { createSampleToken } from "./sample-token.ts";

/** The account for trying the product. Its secrets are stored in the data folder, which no real network does. */
export type Demo = { readonly account: Hex } & Readonly<
  Record<"apiKey" | "managementKey" | "walletKey", string>
>;

const StoredKeys = z.object({ apiKey: z.string(), managementKey: z.string() });
const DEPOSIT_NEURON = 10n * NEURON_PER_TOKEN;
const LOW_NEURON = NEURON_PER_TOKEN;
const TIMEOUT_MS = 30_000;
const POLL_MS = 50;

/**
 * Creates the demo account's two keys, the same at every start, deposits money on chain if its balance is low, and mints
 * a sample of an agent token on a new chain.
 */
export async function prepareDemo(app: App, devnet: Devnet, folder: string): Promise<Demo> {
  const account = lowerHex(DEMO_USER.address);
  const keys =
    (await readStoredKeys(app, join(folder, "demo.json"))) ??
    (await createKeys(app, account, join(folder, "demo.json")));
  const isLow = (await available(app, account)) < LOW_NEURON;
  if (isLow) {
    const { privateKey } = DEMO_USER;
    await depositToVault(devnet.rpcUrl, { fromKey: privateKey, account, amountNeuron: DEPOSIT_NEURON });
  }
  // The deposit is credited meanwhile.
  await createSampleToken(devnet.rpcUrl);
  if (isLow) await untilCredited(app, account);
  return { account, ...keys, walletKey: DEMO_USER.privateKey };
}

async function createKeys(app: App, account: string, file: string): Promise<z.infer<typeof StoredKeys>> {
  await revokeLostKeys(app.apiKeys, account);
  const { secret: apiKey } = await app.apiKeys.create(account, "demo");
  await revokeLostKeys(app.managementKeys, account);
  const { secret: managementKey } = await app.managementKeys.create(account, "demo", SCOPES);
  writeFileSync(file, JSON.stringify({ apiKey, managementKey }), { mode: 0o600 });
  chmodSync(file, 0o600);
  return { apiKey, managementKey };
}

/** Names are unique: a key whose secret was lost with the file is revoked, so that a new one can have its name. */
async function revokeLostKeys(keys: App["apiKeys"] | App["managementKeys"], account: string): Promise<void> {
  const { rows } = await keys.list(account, { first: 100 }, ["active"]);
  for (const { id, name } of rows) if (name === "demo") await keys.revoke(account, id);
}

/** The keys of an earlier start, if they are valid in this database. */
async function readStoredKeys(app: App, file: string): Promise<z.infer<typeof StoredKeys> | undefined> {
  try {
    const stored = StoredKeys.parse(JSON.parse(readFileSync(file, "utf8")));
    await app.authenticate(`Bearer ${stored.apiKey}`);
    await app.authenticate(`Bearer ${stored.managementKey}`);
    return stored;
  } catch {
    return undefined;
  }
}

async function available(app: App, account: string): Promise<bigint> {
  const [balance] = await app.balances.byAccounts([account]);
  return balance?.available ?? 0n;
}

async function untilCredited(app: App, account: string): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  while ((await available(app, account)) < LOW_NEURON) {
    if (performance.now() > deadlineMs) throw new Error("the demo deposit was not credited within 30 s");
    await sleep(POLL_MS);
  }
}
