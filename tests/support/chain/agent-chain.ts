import { createTestClient, encodeAbiParameters, publicActions, toEventSelector } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { onTestFinished } from "vitest";
import { AgentLogService } from "../../../src/chain/agents/log/agent-log.service.ts";
import { AgentTokensService } from "../../../src/chain/agents/tokens/agent-tokens.service.ts";
import { createRpc } from "../../../src/chain/rpc/rpc.client.ts";
import { LogWatcher, type LogWatcherOptions } from "../../../src/chain/watcher/log-watcher.ts";
import type { Database } from "../../../src/db/database.ts";
import { startAnvil } from "../../../src/devnet/chain/anvil.ts";
import { contractAddresses, deployContracts } from "../../../src/devnet/chain/deploy.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { type Hex, lowerHex } from "../../../src/kernel/text/hex.ts";
import type { OnEnd } from "../servers/database.ts";
import { until } from "../until.ts";
import { patientTransport } from "./patient-transport.ts";

type Reorg = { Method: "anvil_reorg"; Parameters: [number, [Hex, number][]]; ReturnType: null };
type RawTransaction = { Method: "eth_getRawTransactionByHash"; Parameters: [Hex]; ReturnType: Hex };

/** A funded account with its key. */
export type Funded = PrivateKeyAccount & { readonly privateKey: Hex };
/** A chain with the devnet's contracts, whose blocks can be replaced. */
export type AgentChain = Awaited<ReturnType<typeof startAgentChain>>;

/** The devnet's contract of agent tokens, in lower case. */
export function agentNft(): Hex {
  return lowerHex(contractAddresses().agentNft);
}

/** A contract that emits mint events of any number of tokens. */
export const FLOOD: Hex = "0x0000000000000000000000000000000000f100d0";
const TRANSFER = toEventSelector("event Transfer(address,address,uint256)").slice(2);
// for (n = calldataload(0); n > 0; n--) log4(0, 0, TRANSFER, 0, calldataload(32), n + calldataload(64))
const FLOOD_CODE: Hex = `0x6000355b806040350160203560007f${TRANSFER}60006000a4600190038060035700`;

/** Makes FLOOD mint `count` tokens to `to` in one block, the first with the id `base` + 1. */
export async function flood(
  client: ReturnType<typeof handlesOf>["client"],
  { count, to, base }: { count: number; to: Hex; base: bigint },
): Promise<void> {
  await client.setCode({ address: FLOOD, bytecode: FLOOD_CODE });
  const data = encodeAbiParameters(
    [{ type: "uint256" }, { type: "address" }, { type: "uint256" }],
    [BigInt(count), to, base],
  );
  await client.impersonateAccount({ address: to });
  await client.setBalance({ address: to, value: 10n ** 18n });
  const gas = 100_000n + BigInt(count) * 2_500n;
  const hash = await client.sendUnsignedTransaction({ from: to, to: FLOOD, data, gas });
  // Not by viem, which asks for a receipt of this size once and then waits for another block.
  await until(() => client.getTransactionReceipt({ hash }));
}

/** Starts one. */
export async function startAgentChain(onEnd: OnEnd = onTestFinished as OnEnd) {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  await deployContracts(anvil.url);
  return { url: anvil.url, ...handlesOf(anvil.url) };
}

/** The operations on a running development chain. */
export function handlesOf(url: string) {
  const client = createTestClient({
    mode: "anvil",
    transport: patientTransport(url),
    cacheTime: 0,
    pollingInterval: 10,
  }).extend(publicActions);
  /**
   * Replaces the newest `depth` blocks; `again` are signed transactions and the index of the new block of
   * each.
   */
  const reorg = (depth: number, again: [Hex, number][] = []) =>
    client.request<Reorg>({ method: "anvil_reorg", params: [depth, again] });
  return {
    client,
    mine: (blocks: number) => client.mine({ blocks }),
    height: () => client.getBlockNumber(),
    /** A new account with funds for gas. */
    async funded(): Promise<Funded> {
      const privateKey = generatePrivateKey();
      const account = privateKeyToAccount(privateKey);
      await client.setBalance({ address: account.address, value: 10n ** 18n });
      return { ...account, privateKey };
    },
    /** A signed transaction, to be mined again. */
    raw: (hash: Hex) =>
      client.request<RawTransaction>({ method: "eth_getRawTransactionByHash", params: [hash] }),
    reorg,
    /** Replaces the block of a transaction and those after it, which a running product may have sent. */
    async revert(hash: Hex, again: [Hex, number][] = []): Promise<void> {
      const { blockNumber } = await client.getTransactionReceipt({ hash });
      const depth = Number((await client.getBlockNumber()) - blockNumber) + 1;
      await reorg(depth, again);
    },
  };
}

/** Follows the devnet's agent tokens into a database, until the test is finished. */
export function watchAgents(
  database: Database,
  {
    url,
    onEnd = onTestFinished as OnEnd,
    address = agentNft(),
    ...options
  }: { url: string; onEnd?: OnEnd; address?: Hex } & Partial<LogWatcherOptions>,
) {
  const lines: string[] = [];
  const log = createLogger("debug", { write: (line) => void lines.push(line) });
  const rpc = createRpc({ urls: [url], network: "devnet", chainId: 16_602, timeoutMs: 1_000, log });
  const contract = { address, generation: "agent-nft", startBlock: undefined } as const;
  const watcher = new LogWatcher({
    name: `agent:${contract.address}`,
    rpc,
    database,
    startBlock: 0n,
    confirmations: 0,
    handlers: [new AgentLogService({ chainId: 16_602, contract })],
    log,
    pollMs: 20,
    ...options,
  });
  onEnd(() => watcher.stop());
  const { client } = rpc;
  return {
    watcher,
    lines,
    tokens: new AgentTokensService({
      queries: database,
      client,
      chainId: 16_602,
      contracts: [contract],
      clock: systemClock,
    }),
    /** Waits until the stored state is that of the chain. */
    async caughtUp(): Promise<void> {
      watcher.poke();
      await until(async () => {
        const { hash, number } = await client.getBlock();
        const [row] = await database.rows<{ hash: string; number: string }>(
          "select block_hash as hash, block_number::text as number from watcher_cursor where name = $1",
          [watcher.name],
        );
        return row?.hash === hash && row?.number === number.toString();
      });
    },
  };
}
