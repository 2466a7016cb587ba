import { type NotRead, unset } from "./part-state.ts";
import { plainText, readJson } from "./read-json.ts";

/** The supported execution clients (SPEC 9.4). */
export const EXECUTION_CLIENTS = ["geth", "reth"] as const;
export type ExecutionClientName = (typeof EXECUTION_CLIENTS)[number];

/** The execution client's status, from its JSON-RPC (SPEC 4.5). */
export type ExecutionStatus =
  | NotRead
  | {
      readonly state: "answering";
      readonly clientVersion: string;
      /** Undefined for another client. */
      readonly client: ExecutionClientName | undefined;
      readonly chainId: number;
      readonly blockNumber: bigint;
      readonly syncing: boolean;
      /** The current and the target block, while syncing. */
      readonly currentBlock: bigint | undefined;
      readonly highestBlock: bigint | undefined;
      readonly peers: number | undefined;
    };

/** A JSON-RPC error, or a response that is not valid JSON-RPC. */
class RpcRefusal extends Error {
  override readonly name = "RpcRefusal";
}

/** Reads the execution client's status. It never throws: `detail` describes the failure. */
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
      ? { state: "malformed", detail: `The response is not from an execution client: ${message}.` }
      : { state: "unreachable", detail: `The execution client does not answer: ${message}.` };
  }
}

/** The chain id of a JSON-RPC endpoint. Throws if the response has none. */
export async function readChainId(url: string): Promise<number> {
  const chainId = quantity(await callRpc(url, "eth_chainId"));
  if (chainId === undefined || chainId > BigInt(Number.MAX_SAFE_INTEGER))
    throw new RpcRefusal("its chain id is not a number");
  return Number(chainId);
}

/** The height of a JSON-RPC endpoint. Throws if the response has none. */
export async function readBlockNumber(url: string): Promise<bigint> {
  const number = quantity(await callRpc(url, "eth_blockNumber"));
  if (number === undefined) throw new RpcRefusal("its block number is not a number");
  return number;
}

async function callRpc(url: string, method: string): Promise<unknown> {
  const { status, body } = await readJson(url, { body: { jsonrpc: "2.0", id: 1, method, params: [] } });
  if (typeof body === "object" && body !== null && "result" in body) return body.result;
  throw new RpcRefusal(`${method} returned HTTP ${status} without a result`);
}

function quantity(value: unknown): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-fA-F]{1,16}$/.test(value) ? BigInt(value) : undefined;
}
