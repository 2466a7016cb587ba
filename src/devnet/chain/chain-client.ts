import {
  BaseError,
  ContractFunctionRevertedError,
  createWalletClient,
  defineChain,
  type Hash,
  type HttpTransport,
  http,
  publicActions,
  toHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { DEVNET_CHAIN_ID } from "./anvil.ts";

type ClientVersion = { Method: "web3_clientVersion"; Parameters?: undefined; ReturnType: string };

/** Reads, and writes as one account, on the development chain. One write at a time: each reads the account's nonce. */
export type DevnetClient = Awaited<ReturnType<typeof connectDevnet>>;

/**
 * A client of the development chain that signs with `privateKey`.
 *
 * Throws `chain_error` if the server is not anvil: the public testnet has the same chain id, and the devnet's
 * transactions must never be sent there.
 */
export async function connectDevnet(rpcUrl: string, privateKey: Hex) {
  const chain = defineChain({
    id: DEVNET_CHAIN_ID,
    name: "devnet",
    nativeCurrency: { name: "0G", symbol: "0G", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    // While viem looks for a replaced transaction it ignores a new block; without further blocks it waits for ever.
    supportsTransactionReplacementDetection: false,
  });
  const client = createWalletClient({
    chain,
    account: privateKeyToAccount(privateKey),
    transport: withSpareGas(http()),
    pollingInterval: 20,
  }).extend(publicActions);
  const version = await client.request<ClientVersion>({ method: "web3_clientVersion" });
  if (!version.startsWith("anvil/"))
    throw new AppError("chain_error", `${rpcUrl} is not a development chain: ${version}.`);
  return client;
}

/**
 * A transport that adds a fifth to estimates of gas, as the product's sender does. An estimate is for the current
 * second, and storing a time that is already stored costs less than storing the next one.
 */
function withSpareGas(transport: HttpTransport): HttpTransport {
  return (options) => {
    const inner = transport(options);
    const request = async (call: { readonly method: string }) => {
      const answer = await inner.request(call as Parameters<typeof inner.request>[0]);
      return call.method === "eth_fillTransaction" ? withMoreGas(answer as Filled) : answer;
    };
    return { ...inner, request: request as typeof inner.request };
  };
}

type Filled = { readonly tx: { readonly gas: Hex } };

function withMoreGas(filled: Filled): Filled {
  return { ...filled, tx: { ...filled.tx, gas: toHex((BigInt(filled.tx.gas) * 6n) / 5n) } };
}

/** Waits until a transaction is mined. Throws `chain_error` if it was reverted. */
export async function mined(client: DevnetClient, hash: Hash): Promise<Hash> {
  const receipt = await client.waitForTransactionReceipt({ hash });
  if (receipt.status !== "success") throw new AppError("chain_error", `Transaction ${hash} was reverted.`);
  return hash;
}

/** A call that is sent without estimating its gas. */
export type Call = { readonly to: Hex; readonly data: Hex; readonly gas: bigint };

/** Sends calls in order, one after another, and waits for all of them. Throws as `mined` does. */
export async function sendAll(client: DevnetClient, calls: readonly Call[]): Promise<void> {
  if (calls.length === 0) return;
  const [nonce, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
    client.getTransactionCount({ address: client.account.address }),
    client.estimateFeesPerGas(),
  ]);
  // The base fee may rise from block to block.
  const fees = { maxFeePerGas: maxFeePerGas * 10n, maxPriorityFeePerGas };
  const hashes: Hash[] = [];
  for (const [index, call] of calls.entries())
    hashes.push(await client.sendTransaction({ ...call, ...fees, nonce: nonce + index }));
  await Promise.all(hashes.map((hash) => mined(client, hash)));
}

/** The name of the contract's custom error in a failed call; undefined for other failures. */
export function revertName(error: unknown): string | undefined {
  const revert =
    error instanceof BaseError && error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  return revert instanceof ContractFunctionRevertedError ? revert.data?.errorName : undefined;
}
