import type { EIP1193Provider } from "mipd";
import { pause } from "../query/fetch-again.ts";

/** A chain in the format of `wallet_addEthereumChain`. */
export type WalletChain = { readonly chainId: string } & Readonly<Record<string, unknown>>;

/** A transaction for a wallet: `value` is in neuron, and `from` the account that must send it. */
export type WalletTransaction = {
  readonly to: string;
  readonly data: string;
  readonly value: string;
  readonly chain: WalletChain;
  readonly from?: string | undefined;
};

/** Codes of EIP-1193 and EIP-3326. */
const REFUSED = 4001;
const UNKNOWN_CHAIN = 4902;

/** Sends a transaction by a wallet of the browser (EIP-1193), on our chain, and returns its hash. */
export async function sendThrough(
  provider: EIP1193Provider,
  name: string,
  { to, data, value, chain, from: wanted }: WalletTransaction,
): Promise<string> {
  try {
    const from = await connect(provider, name, { chain, from: wanted });
    await requireContract(provider, name, to);
    const transaction = { from, to, data, value: `0x${BigInt(value).toString(16)}` };
    return await provider.request({ method: "eth_sendTransaction", params: [transaction as never] });
  } catch (error) {
    throw readable(error, name);
  }
}

/**
 * How many transactions an account has sent on our chain, those included that are in no block yet; undefined if the wallet
 * does not say. Throws, as `sendThrough`, what keeps the wallet from sending.
 */
export async function countSent(
  provider: EIP1193Provider,
  name: string,
  sender: { readonly chain: WalletChain; readonly from: string },
): Promise<number | undefined> {
  let from: `0x${string}`;
  try {
    from = await connect(provider, name, sender);
  } catch (error) {
    throw readable(error, name);
  }
  const params = [from, "pending"] as const;
  return provider.request({ method: "eth_getTransactionCount", params: params as never }).then(
    (count: unknown) => (Number.isSafeInteger(Number(count)) ? Number(count) : undefined),
    () => undefined,
  );
}

/** Whether a wallet has shown an account to this page. Asks its user nothing. */
export async function hasAccount(provider: EIP1193Provider, address: string): Promise<boolean> {
  const accounts = await provider.request({ method: "eth_accounts" });
  return findAccount(accounts, address) !== undefined;
}

/** Resolves when a transaction is in a block; throws if it was reverted. Asks until `signal` aborts. */
export async function untilMined(
  provider: EIP1193Provider,
  hash: string,
  signal: AbortSignal,
): Promise<void> {
  const params = [hash as `0x${string}`] as const;
  for (;;) {
    // A wallet that cannot be reached for a moment is asked again.
    const receipt = await provider
      .request({ method: "eth_getTransactionReceipt", params: params as never })
      .catch(() => null);
    if (receipt) {
      if (isReverted(receipt))
        throw new Error("The contract reverted the transaction. Only its gas was spent.");
      return;
    }
    await pause(0, signal);
  }
}

/** Brings the wallet to our chain, and returns its account to send from: the wanted one, otherwise its first. */
async function connect(
  provider: EIP1193Provider,
  name: string,
  { chain, from: wanted }: { readonly chain: WalletChain; readonly from?: string | undefined },
): Promise<`0x${string}`> {
  const accounts = await provider.request({ method: "eth_requestAccounts" });
  const from = wanted ? findAccount(accounts, wanted) : accounts[0];
  if (!from)
    throw new Error(wanted ? `Select the account ${wanted} in ${name}.` : `${name} returned no account.`);
  await switchToChain(provider, name, chain);
  return from;
}

function findAccount(accounts: readonly `0x${string}`[], wanted: string): `0x${string}` | undefined {
  return accounts.find((account) => account.toLowerCase() === wanted.toLowerCase());
}

function isReverted({ status }: { readonly status?: unknown }): boolean {
  return status === "0x0" || status === "reverted";
}

/** Switches the wallet to our chain, adding the chain if the wallet does not know it. */
async function switchToChain(provider: EIP1193Provider, name: string, chain: WalletChain): Promise<void> {
  const switchTo = () =>
    provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: chain.chainId }] });
  if (await isOn(provider, chain)) return;
  try {
    await switchTo();
  } catch (error) {
    if (!codesOf(error).includes(UNKNOWN_CHAIN)) throw error;
    await provider.request({ method: "wallet_addEthereumChain", params: [chain as never] });
    if (!(await isOn(provider, chain))) await switchTo();
  }
  // Some wallets resolve although their user stayed on the other chain.
  if (!(await isOn(provider, chain)))
    throw new Error(`${name} is on another chain. Switch it to ${String(chain.chainName)}, and try again.`);
}

/** Development networks share the chain id of a public one, whose coins would be spent at an address without code. */
async function requireContract(provider: EIP1193Provider, name: string, address: string): Promise<void> {
  const code: unknown = await provider.request({
    method: "eth_getCode",
    params: [address as `0x${string}`, "latest"],
  });
  if (code === "0x" || code === undefined || code === null)
    throw new Error(
      `${name} reads another chain with the same id, which has no such contract. Nothing was sent: check its RPC URL.`,
    );
}

async function isOn(provider: EIP1193Provider, { chainId }: WalletChain): Promise<boolean> {
  return BigInt(await provider.request({ method: "eth_chainId" })) === BigInt(chainId);
}

/** The codes of an error, and of the one that mobile wallets put into it. */
function codesOf(error: unknown): readonly unknown[] {
  const { code, data } = error as { code?: unknown; data?: { originalError?: { code?: unknown } } };
  return [code, data?.originalError?.code];
}

function readable(error: unknown, name: string): Error {
  if (codesOf(error).includes(REFUSED)) return new Error(`${name} refused the request. Nothing was sent.`);
  if (error instanceof Error) return error;
  // Wallets throw plain objects, too.
  const { message } = Object(error) as { message?: unknown };
  return new Error(typeof message === "string" && message !== "" ? message : `${name} failed.`);
}
