import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { NodeSettings } from "../../../src/chain/node/node-settings.ts";

/** A validator's address as nodes spell it. */
export const VALIDATOR = "A1".repeat(20);

/** A consensus client's answers, which a test may change at any time. */
export type ConsensusPart = {
  readonly url: string;
  /** The requests to it, by path. */
  readonly asked: string[];
  height: number;
  catchingUp: boolean;
  validator: string;
  /** The signers of the newest block. */
  signers: readonly string[];
  /** Replaces its answer. */
  text: string | undefined;
  hangs: boolean;
  stop(): Promise<void>;
};

/** An execution client with its JSON-RPC and its engine API. */
export type ExecutionPart = {
  readonly url: string;
  readonly engineUrl: string;
  readonly asked: string[];
  chainId: number;
  height: number;
  syncing: false | { readonly currentBlock: string; readonly highestBlock: string };
  version: string;
  /** Hexadecimal; undefined accepts every call. */
  secret: string | undefined;
  text: string | undefined;
  stopEngine(): Promise<void>;
  stop(): Promise<void>;
};

/** Starts the public interface of a consensus client, in CometBFT's format. It ends with the test. */
export async function startConsensus(port = 0): Promise<ConsensusPart> {
  const server = await listen((request, response) => {
    part.asked.push(request.url ?? "");
    if (part.hangs) return;
    response.setHeader("content-type", "application/json");
    if (part.text !== undefined) return void response.end(part.text);
    const result = request.url === "/commit" ? commitOf(part.signers) : statusOf(part);
    response.end(JSON.stringify({ jsonrpc: "2.0", id: -1, result }));
  }, port);
  const part: ConsensusPart = {
    url: urlOf(server),
    asked: [],
    height: 1_000,
    catchingUp: false,
    validator: VALIDATOR,
    signers: [],
    text: undefined,
    hangs: false,
    stop: () => end(server),
  };
  return part;
}

/**
 * Starts an execution client: JSON-RPC on one port and the engine API, with its own check of the token, on
 * another.
 */
export async function startExecution(): Promise<ExecutionPart> {
  const rpc = await listen(async (request, response) => {
    const { id, method } = JSON.parse(await textOf(request)) as { id: number; method: string };
    part.asked.push(method);
    response.setHeader("content-type", "application/json");
    if (part.text !== undefined) return void response.end(part.text);
    const results: Record<string, unknown> = {
      web3_clientVersion: part.version,
      eth_chainId: `0x${part.chainId.toString(16)}`,
      eth_blockNumber: `0x${part.height.toString(16)}`,
      eth_syncing: part.syncing,
      net_peerCount: "0x5",
    };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
  });
  const engine = await listen(async (request, response) => {
    await textOf(request);
    if (part.secret !== undefined && !isToken(request.headers.authorization, part.secret)) {
      response.statusCode = 401;
      return void response.end("signature is invalid");
    }
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: `0x${part.chainId.toString(16)}` }));
  });
  const part: ExecutionPart = {
    url: urlOf(rpc),
    engineUrl: urlOf(engine),
    asked: [],
    chainId: 16_602,
    height: 1_000,
    syncing: false,
    version: "Geth/v1.15.0-stable/linux-amd64/go1.24",
    secret: undefined,
    text: undefined,
    stopEngine: () => end(engine),
    async stop() {
      await Promise.all([end(rpc), end(engine)]);
    },
  };
  return part;
}

/** A port that accepts connections, as P2P does, and ends with the test. */
export async function startP2p(): Promise<number> {
  const server = createTcpServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The files of a correctly configured node; removed with the test. */
export function makeFolders() {
  const folder = mkdtempSync(join(tmpdir(), "node-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [home, data] = [join(folder, "home"), join(folder, "data")];
  for (const path of ["home/config", "home/data", "data/geth/chaindata"])
    mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(home, "config", "genesis.json"), "{}");
  writeFileSync(join(home, "config", "priv_validator_key.json"), JSON.stringify({ address: VALIDATOR }));
  const validatorState = join(home, "data", "priv_validator_state.json");
  writeFileSync(validatorState, "{}");
  const secret = randomBytes(32).toString("hex");
  const jwt = join(folder, "jwt.hex");
  writeFileSync(jwt, `0x${secret}\n`, { mode: 0o600 });
  return { folder, home, data, validatorState, jwt, secret };
}

/** Empty settings, overridden by the given ones. */
export function settingsWith(given: Partial<NodeSettings> = {}): NodeSettings {
  return {
    operators: [],
    consensusUrl: undefined,
    executionUrl: undefined,
    engineUrl: undefined,
    consensusJwtFile: undefined,
    executionJwtFile: undefined,
    consensusHome: undefined,
    executionData: undefined,
    publicAddress: undefined,
    publicRpcUrl: undefined,
    ethRpcUrl: undefined,
    otherConsensusUrls: [],
    p2pPorts: { consensus: 26_656, execution: 30_303 },
    ...given,
  };
}

function statusOf({ height, catchingUp, validator }: ConsensusPart): object {
  return {
    node_info: { id: "ab".repeat(20), network: "0gchain-16602", version: "0.38.17", moniker: "ours" },
    sync_info: {
      latest_block_hash: "00",
      latest_block_height: String(height),
      latest_block_time: "2026-11-21T12:00:00.123456789Z",
      catching_up: catchingUp,
    },
    validator_info: { address: validator, pub_key: { type: "x", value: "y" }, voting_power: "10" },
  };
}

function commitOf(signers: readonly string[]): object {
  const signatures = signers.map((address) => ({ block_id_flag: 2, validator_address: address }));
  return { signed_header: { header: {}, commit: { height: "1000", signatures } }, canonical: true };
}

/** Checks a token as an engine API does: HS256, and not older than a minute. */
function isToken(authorization: string | undefined, secret: string): boolean {
  const [head = "", payload = "", signature] = (authorization ?? "").replace(/^Bearer /, "").split(".");
  const { alg } = JSON.parse(Buffer.from(head, "base64url").toString() || "{}") as { alg?: string };
  const wanted = createHmac("sha256", Buffer.from(secret, "hex"))
    .update(`${head}.${payload}`)
    .digest("base64url");
  if (alg !== "HS256" || signature !== wanted) return false;
  const { iat } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { iat: number };
  return Math.abs(Date.now() / 1_000 - iat) <= 60;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function listen(listener: RequestListener, port = 0): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => end(server));
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function end(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
