import { getAddress } from "viem";
import { inferenceServingAbi } from "../../chain/abi/inference-serving.ts";
import { ledgerManagerAbi } from "../../chain/abi/ledger-manager.ts";
import { vaultAbi } from "../../chain/abi/vault.ts";
import { NEURON_PER_TOKEN } from "../../kernel/text/amount.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { DEPLOYER } from "./accounts.ts";
import { connectDevnet, type DevnetClient, mined, revertName } from "./chain-client.ts";
import { contractAddresses } from "./deploy.ts";

/** A provider's row in the on-chain registry; prices are neuron per token, `additionalInfo` is JSON text. */
export type ProviderRow = {
  readonly providerKey: Hex;
  readonly url: string;
  readonly model: string;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly serviceType: string;
  readonly verifiability: string;
  readonly additionalInfo: string;
  readonly teeSigner: Hex;
};

const STAKE_NEURON = 100n * NEURON_PER_TOKEN;
const SERVICE_NAME = "inference-v1.0";

/**
 * Registers a provider with its stake of 100 tokens, or updates its row if that differs; then the owner acknowledges
 * its signer. Resolves with the provider's address. Idempotent: sends nothing if nothing changes.
 */
export async function registerProvider(rpcUrl: string, row: ProviderRow): Promise<Hex> {
  const { providerKey, teeSigner, ...fields } = row;
  const client = await connectDevnet(rpcUrl, providerKey);
  const provider = client.account.address;
  const params = { ...fields, teeSignerAddress: getAddress(teeSigner) };
  const known = await readService(client, provider);
  if (!known || !isSameRow(known, params)) {
    const value = known ? 0n : STAKE_NEURON;
    if (!known) await fundStake(rpcUrl, client);
    const call = { ...registry(), functionName: "addOrUpdateService", args: [params], value } as const;
    await mined(client, await client.writeContract(call));
  }
  if ((await readService(client, provider))?.teeSignerAcknowledged) return provider;
  const owner = await connectDevnet(rpcUrl, DEPLOYER.privateKey);
  const call = { ...registry(), functionName: "acknowledgeTEESignerByOwner", args: [provider] } as const;
  await mined(owner, await owner.writeContract(call));
  return provider;
}

/** Ensures that a provider can pay its stake and its transactions: anvil gives money to ten accounts only. */
async function fundStake(rpcUrl: string, { account, getBalance }: DevnetClient): Promise<void> {
  const value = 2n * STAKE_NEURON;
  if ((await getBalance(account)) >= value) return;
  const deployer = await connectDevnet(rpcUrl, DEPLOYER.privateKey);
  await mined(deployer, await deployer.sendTransaction({ to: account.address, value }));
}

/**
 * Ensures that the router's wallet has a ledger, and an acknowledged sub-account at `provider` with at least
 * `subAccountNeuron` beyond pending refunds. Idempotent: sends nothing if nothing changes.
 */
export async function fundRouterWallet(
  rpcUrl: string,
  {
    routerKey,
    provider,
    subAccountNeuron = 100n * NEURON_PER_TOKEN,
  }: { readonly routerKey: Hex; readonly provider: Hex; readonly subAccountNeuron?: bigint },
): Promise<void> {
  const client = await connectDevnet(rpcUrl, routerKey);
  const account = await readAccount(client, provider);
  const { balance, pendingRefund } = account ?? { balance: 0n, pendingRefund: 0n };
  const missing = subAccountNeuron - (balance - pendingRefund);
  if (missing > 0n) {
    // A transfer cancels pending refunds before it draws from the ledger.
    if (missing > pendingRefund) await fillLedger(client, missing - pendingRefund);
    const args = [provider, SERVICE_NAME, missing] as const;
    await mined(client, await client.writeContract({ ...ledger(), functionName: "transferFund", args }));
  }
  if ((await readAccount(client, provider))?.acknowledged) return;
  const args = [provider, true] as const;
  await mined(
    client,
    await client.writeContract({ ...registry(), functionName: "acknowledgeTEESigner", args }),
  );
}

/** Deposits `amountNeuron` into the vault for `account`; resolves with the hash of the mined transaction. */
export async function depositToVault(
  rpcUrl: string,
  deposit: { readonly fromKey: Hex; readonly account: Hex; readonly amountNeuron: bigint },
): Promise<Hex> {
  const client = await connectDevnet(rpcUrl, deposit.fromKey);
  const hash = await client.writeContract({
    address: contractAddresses().vault,
    abi: vaultAbi,
    functionName: "depositFor",
    args: [deposit.account],
    value: deposit.amountNeuron,
  });
  return mined(client, hash);
}

const registry = () => ({ address: contractAddresses().inference, abi: inferenceServingAbi }) as const;
const ledger = () => ({ address: contractAddresses().ledger, abi: ledgerManagerAbi }) as const;

async function readService(client: DevnetClient, provider: Hex) {
  const args = [provider] as const;
  if (!(await client.readContract({ ...registry(), functionName: "serviceExists", args }))) return undefined;
  return client.readContract({ ...registry(), functionName: "getService", args });
}

async function readAccount(client: DevnetClient, provider: Hex) {
  const args = [client.account.address, provider] as const;
  if (!(await client.readContract({ ...registry(), functionName: "accountExists", args }))) return undefined;
  return client.readContract({ ...registry(), functionName: "getAccount", args });
}

function isSameRow(
  known: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(wanted).every(([field, value]) => known[field] === value);
}

/** Ensures that at least `neededNeuron` is available in the caller's ledger, which is created if necessary. */
async function fillLedger(client: DevnetClient, neededNeuron: bigint): Promise<void> {
  const [minimum, known] = await Promise.all([
    client.readContract({ ...ledger(), functionName: "MIN_ACCOUNT_BALANCE" }),
    readLedger(client),
  ]);
  if (!known) {
    const value = neededNeuron > minimum ? neededNeuron : minimum;
    const call = { ...ledger(), functionName: "addLedger", args: ["devnet"], value } as const;
    await mined(client, await client.writeContract(call));
  } else if (known.availableBalance < neededNeuron) {
    const value = neededNeuron - known.availableBalance;
    await mined(client, await client.writeContract({ ...ledger(), functionName: "depositFund", value }));
  }
}

async function readLedger(client: DevnetClient) {
  const args = [client.account.address] as const;
  try {
    return await client.readContract({ ...ledger(), functionName: "getLedger", args });
  } catch (error) {
    if (revertName(error) === "LedgerNotExists") return undefined;
    throw error;
  }
}
