import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { createPublicClient, encodeAbiParameters, http, toEventSelector } from "viem";
import { WebSocket } from "ws";
import { agentNftAbi } from "../../../src/chain/abi/agent-nft.ts";
import { AgentLogService } from "../../../src/chain/agents/log/agent-log.service.ts";
import { createRpc } from "../../../src/chain/rpc/rpc.client.ts";
import { LogWatcher } from "../../../src/chain/watcher/log-watcher.ts";
import type { Database } from "../../../src/db/database.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { startAnvil } from "../../../src/devnet/chain/anvil.ts";
import { deployContracts } from "../../../src/devnet/chain/deploy.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { FLOOD, flood, handlesOf } from "../../support/chain/agent-chain.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";
import { PRODUCT } from "../build.ts";
import { startChild } from "../child.ts";
import { startDurablePostgres } from "../durable-postgres.ts";
import { quantile } from "../load.ts";

type Pace = {
  readonly rounds: number;
  /** Blocks with 100 events each, one in ten. */
  readonly fullBlocks: number;
  readonly keys: number;
};

const EVENTS_A_BLOCK = 100;
const EMPTY_BLOCKS = 9;
const PAGE_BLOCKS = 1_000n;
const SUBSCRIBERS = [1, 100, 1_000] as const;
/** The maximum on one socket. */
const A_SOCKET = 100;
const OWNER: Hex = `0x${"a9".repeat(20)}`;
const SETTLE_MS = 2_000;
const BANNER = /OpenAI clients +(http\S+)\/v1/;
const EMITTER: Hex = "0x00000000000000000000000000000000e3177e50";
const PUBLISHED = toEventSelector("event PublishedSealedKey(address,uint256,bytes[])");
// calldatacopy(0, 96, size - 96); log3(0, size - 96, calldataload(0), calldataload(32), calldataload(64))
const EMITTER_CODE: Hex = "0x606036036060600037604035602035600035606036036000a300";

/**
 * How fast the history of a contract is read into rows, against viem's `getContractEvents` page by page,
 * which stores nothing; and the delay of a sealed key from its block to its subscribers, over sockets to one
 * process on the development network, which polls every 250 ms. Returns two Markdown tables.
 */
export async function benchChain(pace: Pace, onEnd: OnEnd): Promise<string> {
  return `${await benchBackfill(pace, onEnd)}\n${await benchDelay(pace, onEnd)}`;
}

async function benchBackfill({ rounds, fullBlocks }: Pace, onEnd: OnEnd): Promise<string> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  const { client, mine } = handlesOf(anvil.url);
  for (let n = 0; n < fullBlocks; n++) {
    await flood(client, { count: EVENTS_A_BLOCK, to: OWNER, base: BigInt(n * EVENTS_A_BLOCK) });
    await mine(EMPTY_BLOCKS);
  }
  const [events, head] = [fullBlocks * EVENTS_A_BLOCK, await client.getBlockNumber()];
  const postgres = await startDurablePostgres();
  onEnd(() => postgres.stop());
  const measured = new Map<string, number[]>();
  const note = (name: string, ms: number) =>
    measured.set(name, [...(measured.get(name) ?? []), (events / ms) * 1_000]);
  const databases = new Map<string, Database>([
    [
      "ours, into PostgreSQL with fsync",
      await openDatabase({ kind: "server", url: postgres.url, poolSize: 4 }),
    ],
    ["ours, into PGlite in memory", await openDatabase({ kind: "memory" })],
  ]);
  for (const database of databases.values()) onEnd(() => database.close());
  for (let round = 0; round < rounds; round++) {
    note("viem getContractEvents, kept nowhere", await timed(() => readWithViem(anvil.url, events, head)));
    for (const [name, database] of databases)
      note(name, await timed(() => backfill(database, { url: anvil.url, events, head, round })));
  }
  const rows = [...measured].map(([name, rates]) => `| ${name} | ${Math.round(median(rates))} |`);
  return [
    "",
    `**Backfill of ${events} events in ${head} blocks**`,
    "",
    "| | events/s |",
    "|---|---:|",
    ...rows,
  ].join("\n");
}

async function readWithViem(url: string, events: number, head: bigint): Promise<void> {
  const client = createPublicClient({ transport: http(url) });
  let found = 0;
  for (let fromBlock = 0n; fromBlock <= head; fromBlock += PAGE_BLOCKS) {
    const toBlock = fromBlock + PAGE_BLOCKS - 1n < head ? fromBlock + PAGE_BLOCKS - 1n : head;
    found += (await client.getContractEvents({ address: FLOOD, abi: agentNftAbi, fromBlock, toBlock }))
      .length;
  }
  if (found !== events) throw new Error(`viem found ${found} of ${events} events`);
}

async function backfill(
  database: Database,
  { url, events, head, round }: { url: string; events: number; head: bigint; round: number },
): Promise<void> {
  // Each round is a different chain to the database, as the same one would not be read again.
  const chainId = 16_602;
  const log = createLogger("silent");
  const contract = { address: FLOOD, generation: "agent-nft", startBlock: undefined } as const;
  const watcher = new LogWatcher({
    name: `bench ${round}`,
    rpc: createRpc({ urls: [url], network: "devnet", chainId, log }),
    database,
    startBlock: 0n,
    confirmations: 0,
    handlers: [new AgentLogService({ chainId: chainId + round, contract })],
    log,
    pollMs: 5,
  });
  watcher.start();
  await until(() => watcher.status().scannedBlock === head, 600_000);
  await watcher.stop();
  const [row] = await database.rows<{ count: number }>(
    "select count(*)::int as count from agent_transfer where chain_id = $1::bigint",
    [chainId + round],
  );
  if (row?.count !== events) throw new Error(`${row?.count} of ${events} events were kept`);
}

async function benchDelay({ keys }: Pace, onEnd: OnEnd): Promise<string> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  await deployContracts(anvil.url);
  const folder = await mkdtemp(join(tmpdir(), "zerograph-bench-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const product = await startChild(PRODUCT, {
    ready: BANNER,
    env: {
      NETWORK: "devnet",
      PORT: "0",
      LOG_LEVEL: "warn",
      DATA_DIR: folder,
      RPC_URL: anvil.url,
      AGENT_CONTRACTS: `agent-nft:${EMITTER}`,
      // A thousand begin at once.
      GRAPH_LIMITS: "messagesPerSecond=10000",
    },
  });
  onEnd(() => product.stop());
  const { client } = handlesOf(anvil.url);
  await client.setCode({ address: EMITTER, bytecode: EMITTER_CODE });
  await client.impersonateAccount({ address: OWNER });
  await client.setBalance({ address: OWNER, value: 10n ** 18n });
  let token = 0n;
  const publish = async () => {
    const topics = encodeAbiParameters(
      [{ type: "bytes32" }, { type: "address" }, { type: "uint256" }],
      [PUBLISHED, OWNER, ++token],
    );
    const data = encodeAbiParameters([{ type: "bytes[]" }], [[`0x${"5e".repeat(65)}`]]);
    const call = { from: OWNER, to: EMITTER, data: `${topics}${data.slice(2)}` as Hex, gas: 500_000n };
    await client.sendUnsignedTransaction(call);
    return { token, minedMs: performance.now() };
  };
  const rows: string[] = [];
  for (const count of SUBSCRIBERS) {
    const readers = await subscribe(product.origin, count);
    // The first key shows that all of them are subscribed.
    const heard = () => readers.delays.size;
    readers.expect(await publish());
    await until(() => heard() === count, 60_000);
    await sleep(SETTLE_MS);
    const delays: number[] = [];
    for (let n = 0; n < keys; n++) {
      // At a random time between two polls of the watcher.
      await sleep(randomInt(250));
      readers.expect(await publish());
      await until(() => heard() === count, 60_000);
      delays.push(...readers.delays.values());
    }
    delays.sort((one, other) => one - other);
    const figures = [0.5, 0.99].map((share) => Math.round(quantile(delays, share)));
    rows.push(`| ${count} | ${figures.join(" | ")} |`);
    await readers.close();
  }
  return [
    "",
    `**From a block to the subscribers of a sealed key, ms, ${keys} keys**`,
    "",
    "| subscribers | p50 | p99 |",
    "|---:|---:|---:|",
    ...rows,
  ].join("\n");
}

/** So many subscriptions to one receiver's keys, at most 100 on a socket. */
async function subscribe(origin: string, count: number) {
  const delays = new Map<number, number>();
  let awaited = { token: "", minedMs: 0 };
  const query = `subscription { publishedSealedKey(to: "${OWNER}") { id sealedKey { tokenId keys { key } } } }`;
  const clients = Array.from({ length: Math.ceil(count / A_SOCKET) }, () =>
    createClient({
      url: `${origin.replace(/^http/, "ws")}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      lazyCloseTimeout: 1_000,
    }),
  );
  for (let reader = 0; reader < count; reader++)
    clients[Math.floor(reader / A_SOCKET)]?.subscribe<{
      publishedSealedKey: { sealedKey: { tokenId: string } };
    }>(
      { query },
      {
        next: ({ data }) => {
          if (data?.publishedSealedKey.sealedKey.tokenId === awaited.token)
            delays.set(reader, performance.now() - awaited.minedMs);
        },
        error: (error) => console.error(error),
        complete: () => {},
      },
    );
  await sleep(SETTLE_MS);
  return {
    /** The duration, by reader. */
    delays,
    expect({ token, minedMs }: { token: bigint; minedMs: number }) {
      delays.clear();
      awaited = { token: token.toString(), minedMs };
    },
    close: () => Promise.all(clients.map((client) => client.dispose())),
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );
}
