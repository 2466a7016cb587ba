import {
  createTestClient,
  createWalletClient,
  encodeAbiParameters,
  publicActions,
  toEventSelector,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { onTestFinished } from "vitest";
import { DEMO_USER } from "../../../src/devnet/chain/accounts.ts";
import { startAnvil } from "../../../src/devnet/chain/anvil.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { patientTransport } from "./patient-transport.ts";
import { receiptOf } from "./receipt-of.ts";

/** A signed transaction, to be mined again in another block, and its hash. */
export type SignedDeposit = { readonly raw: Hex; readonly hash: Hex };

type Reorg = { Method: "anvil_reorg"; Parameters: [number, [Hex, number][]]; ReturnType: null };

/**
 * The address of the stand-in vault, which emits `Deposited` with the account and amount it is called with.
 */
export const VAULT: Hex = "0x00000000000000000000000000000000000da017";

const TOPIC = toEventSelector("event Deposited(address indexed account, uint256 amount)").slice(2);
// mstore(0, calldataload(32)); log2(0, 32, TOPIC, calldataload(0))
const CODE: Hex = `0x6020356000526000357f${TOPIC}60206000a200`;

/**
 * Starts a chain for this test, with the stand-in vault on it; it ends with the test. The vault exists from
 * block 1; `port` is for a chain that replaces another one.
 */
export async function startChain({ port = 0 } = {}) {
  const anvil = await startAnvil({ port });
  onTestFinished(() => anvil.stop());
  const client = createTestClient({
    mode: "anvil",
    transport: patientTransport(anvil.url),
    cacheTime: 0,
    pollingInterval: 10,
  }).extend(publicActions);
  await client.setCode({ address: VAULT, bytecode: CODE });
  await client.mine({ blocks: 1 });
  /** Sends a transaction with one deposit, and returns it signed. */
  async function send(
    to: Hex,
    amount: bigint,
    { at = VAULT, from = DEMO_USER.privateKey } = {},
  ): Promise<SignedDeposit> {
    const account = privateKeyToAccount(from);
    const wallet = createWalletClient({ account, transport: patientTransport(anvil.url) });
    const data = encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [to, amount]);
    const nonce = await client.getTransactionCount({ address: account.address });
    const fees = { gas: 100_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n } as const;
    const chainId = await client.getChainId();
    const raw = await wallet.signTransaction({
      chain: null,
      chainId,
      to: at,
      data,
      nonce,
      type: "eip1559",
      ...fees,
    });
    const hash = await client.sendRawTransaction({ serializedTransaction: raw });
    return { raw, hash };
  }
  /** Sends a deposit and waits until it is mined. */
  async function deposit(...how: Parameters<typeof send>): Promise<SignedDeposit> {
    const sent = await send(...how);
    await receiptOf(client, { hash: sent.hash, rpcUrl: anvil.url });
    return sent;
  }
  return {
    url: anvil.url,
    port: anvil.port,
    vault: VAULT,
    client,
    send,
    deposit,
    stop: () => anvil.stop(),
    mine: (blocks: number) => client.mine({ blocks }),
    height: () => client.getBlockNumber(),
    /**
     * Keys of funded senders, each with its own nonces: their transactions may be reordered. Mines a block.
     */
    async senders(count: number): Promise<readonly Hex[]> {
      const keys = Array.from({ length: count }, () => generatePrivateKey());
      for (const key of keys)
        await client.setBalance({ address: privateKeyToAccount(key).address, value: 10n ** 18n });
      await client.mine({ blocks: 1 });
      return keys;
    },
    /**
     * Replaces the newest `depth` blocks; `again` are signed transactions and the index of the new block of
     * each.
     */
    reorg: (depth: number, again: [Hex, number][] = []) =>
      client.request<Reorg>({ method: "anvil_reorg", params: [depth, again] }),
  };
}
