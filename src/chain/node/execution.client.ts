import { type NotRead, unset } from "./part-state.ts";
import { plainText, readJson } from "./read-json.ts";

/** The kinds of execution client that a node may run (SPEC 9.4). */
export const EXECUTION_CLIENTS = ["geth", "reth"] as const;
export type ExecutionClientName = (typeof EXECUTION_CLIENTS)[number];

/** How the execution client stands, by its JSON-RPC (SPEC 4.5). */
export type ExecutionStatus =
  | NotRead
  | {
      readonly state: "answering";
      readonly clientVersion: string;
      /** Undefined for another kind. */
      readonly client: ExecutionClientName | undefined;
      readonly chainId: number;
      readonly blockNumber: bigint;
      readonly syncing: boolean;
      /** How far it is and where it wants to go, while it is syncing. */
      readonly currentBlock: bigint | undefined;
      readonly highestBlock: bigint | undefined;
      readonly peers: number | undefined;
    };

/** A JSON-RPC answer that is an error, or none. */
class RpcRefusal extends Error {
  override readonly name = "RpcRefusal";
}

/** Asks the execution client. It never throws: what is wrong is told. */
export async function readExecution(url: string | undefined): Promise<ExecutionStatus> {
  if (url === undefined) return unset("NODE_EXECUTION_URL");
  try {
    const [version, chainId, blockNumber, syncing, peers] = await Promise.all([
      callRpc(url, "web3_clientVersion"),
      readChainId(url),
      readBlockNumber(url),
      callRpc(url, "eth_syncing"),
      callRpc(url, "net_peerCount").catch(() => undefined),
    ]);
    const clientVersion = typeof version === "string" ? plainText(version) : "";
    const progress = typeof syncing === "object" && syncing !== null ? syncing : {};
    return {
      state: "answering",
      clientVersion,
      client: EXECUTION_CLIENTS.find((name) => clientVersion.toLowerCase().startsWith(name)),
      chainId,
      blockNumber,
      syncing: syncing !== false,
      currentBlock: "currentBlock" in progress ? quantity(progress.currentBlock) : undefined,
      highestBlock: "highestBlock" in progress ? quantity(progress.highestBlock) : undefined,
      peers: peers === undefined ? undefined : Number(quantity(peers) ?? 0n),
    };
  } catch (error) {
    const { message } = error as Error;
    return error instanceof RpcRefusal
      ? { state: "malformed", detail: `What answers is no execution client: ${message}.` }
      : { state: "unreachable", detail: `The execution client does not answer: ${message}.` };
  }
}

/** The chain id that a JSON-RPC endpoint tells. Throws when there is none. */
export async function readChainId(url: string): Promise<number> {
  const chainId = quantity(await callRpc(url, "eth_chainId"));
  if (chainId === undefined || chainId > BigInt(Number.MAX_SAFE_INTEGER))
    throw new RpcRefusal("its chain id is no number");
  return Number(chainId);
}

/** The height that a JSON-RPC endpoint tells. Throws when there is none. */
export async function readBlockNumber(url: string): Promise<bigint> {
  const number = quantity(await callRpc(url, "eth_blockNumber"));
  if (number === undefined) throw new RpcRefusal("its block number is no number");
  return number;
}

async function callRpc(url: string, method: string): Promise<unknown> {
  const { status, body } = await readJson(url, { body: { jsonrpc: "2.0", id: 1, method, params: [] } });
  if (typeof body === "object" && body !== null && "result" in body) return body.result;
  throw new RpcRefusal(`${method} was answered by HTTP ${status} without a result`);
}

function quantity(value: unknown): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-fA-F]{1,16}$/.test(value) ? BigInt(value) : undefined;
}
