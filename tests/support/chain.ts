import {
  createTestClient,
  createWalletClient,
  encodeAbiParameters,
  http,
  publicActions,
  toEventSelector,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { onTestFinished } from "vitest";
import { DEMO_USER } from "../../src/devnet/accounts.ts";
import { startAnvil } from "../../src/devnet/anvil.ts";
import type { Hex } from "../../src/kernel/hex.ts";

type Reorg = { Method: "anvil_reorg"; Parameters: [number, [Hex, number][]]; ReturnType: null };

/** Where the stand-in vault is: it says `Deposited` of whatever account and amount it is called with. */
export const VAULT: Hex = "0x00000000000000000000000000000000000da017";

const TOPIC = toEventSelector("event Deposited(address indexed account, uint256 amount)").slice(2);
// mstore(0, calldataload(32)); log2(0, 32, TOPIC, calldataload(0))
const CODE: Hex = `0x6020356000526000357f${TOPIC}60206000a200`;

/** Starts a chain of this test's own, with the stand-in vault on it; it ends with the test. At block 1 the vault is there; `port` is for a chain that takes another one's place. */
export async function startChain({ port = 0 } = {}) {
  const anvil = await startAnvil({ port });
  onTestFinished(() => anvil.stop());
  const account = privateKeyToAccount(DEMO_USER.privateKey);
  const client = createTestClient({
    mode: "anvil",
    transport: http(anvil.url),
    cacheTime: 0,
    pollingInterval: 10,
  }).extend(publicActions);
  const wallet = createWalletClient({ account, transport: http(anvil.url) });
  await client.setCode({ address: VAULT, bytecode: CODE });
  await client.mine({ blocks: 1 });
  /** Mines a transaction with one deposit and gives it back signed, to be mined again elsewhere. */
  async function deposit(to: Hex, amount: bigint, { at = VAULT } = {}): Promise<{ raw: Hex; hash: Hex }> {
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
    await client.waitForTransactionReceipt({ hash });
    return { raw, hash };
  }
  return {
    url: anvil.url,
    port: anvil.port,
    vault: VAULT,
    client,
    deposit,
    stop: () => anvil.stop(),
    mine: (blocks: number) => client.mine({ blocks }),
    height: () => client.getBlockNumber(),
    /** Replaces the newest `depth` blocks; `again` are signed transactions and in which of the new blocks they are. */
    reorg: (depth: number, again: [Hex, number][] = []) =>
      client.request<Reorg>({ method: "anvil_reorg", params: [depth, again] }),
  };
}
