import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { Shard } from "../../../src/storage/node/remote/shards.ts";
import type { OwnFile } from "./stored-files.ts";

/** How a node answers a request for a segment. */
export type Mood =
  | "good"
  | "flips a bit"
  | "sends another segment"
  | "sends half of it"
  | "answers nothing"
  | "cuts the line"
  | "says it has none"
  | "talks nonsense"
  | "never ends"
  | "fails with 500";

type NodeCall = { readonly method: string; readonly params: readonly unknown[] };

/** A file on a node: its sequence number on chain, and the uploaded segments. */
export type FileOnNode = {
  readonly file: OwnFile;
  readonly txSeq: number;
  readonly startEntryIndex: number;
  readonly have: Set<number>;
  finalized: boolean;
  sizeBytes: number;
};

/** A storage node and indexer over JSON-RPC on 127.0.0.1, which behaves by its mood. */
export type ScriptedNode = {
  readonly url: string;
  readonly calls: NodeCall[];
  readonly files: Map<string, FileOnNode>;
  mood: Mood;
  shard: Shard;
  /** How uploads are answered: a string is an error with that text. */
  uploads: "takes" | string;
  /** Its answers as an indexer. */
  trusted: readonly ScriptedNode[];
  discovered: readonly ScriptedNode[];
  located: readonly ScriptedNode[];
  delayMs: number;
  callsOf(method: string): readonly NodeCall[];
};

/** Starts one; it ends with the test. */
export async function startNode(shard: Shard = { shardId: 0, numShard: 1 }): Promise<ScriptedNode> {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const { method, params = [] } = JSON.parse(Buffer.concat(parts).toString("utf8")) as NodeCall;
      node.calls.push({ method, params });
      if (node.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, node.delayMs));
      answer(node, { method, params }, response);
    })().catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("not listening");
  const node: ScriptedNode = {
    url: `http://127.0.0.1:${address.port}`,
    calls: [],
    files: new Map(),
    mood: "good",
    shard,
    uploads: "takes",
    trusted: [],
    discovered: [],
    located: [],
    delayMs: 0,
    callsOf: (method) => node.calls.filter((call) => call.method.startsWith(method)),
  };
  onTestFinished(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return node;
}

/** Gives nodes a file, complete by default. */
export function give(
  nodes: readonly ScriptedNode[],
  file: OwnFile,
  { txSeq = 0, startEntryIndex = 1_024, finalized = true }: Partial<FileOnNode> = {},
): void {
  const all = Array.from({ length: file.tree.shape.segments }, (_, index) => index);
  for (const { files } of nodes) {
    const have = new Set(finalized ? all : []);
    files.set(file.root, { file, txSeq, startEntryIndex, finalized, have, sizeBytes: file.bytes.length });
  }
}

function answer(node: ScriptedNode, call: NodeCall, response: ServerResponse): void {
  if (call.method.startsWith("zgs_downloadSegmentWithProof")) sendSegment(node, call.params, response);
  else response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...bodyOf(node, call) }));
}

function bodyOf(node: ScriptedNode, { method, params }: NodeCall): object {
  const toNode = ({ url, shard }: ScriptedNode) => ({ url, config: shard, latency: 1, since: 0 });
  if (method === "indexer_getShardedNodes")
    return { result: { trusted: node.trusted.map(toNode), discovered: node.discovered.map(toNode) } };
  if (method === "indexer_getFileLocations") return { result: node.located.map(toNode) };
  if (method === "zgs_getShardConfig") return { result: node.shard };
  if (method.startsWith("zgs_getFileInfo")) return { result: infoOf(node, params[0]) };
  if (method.startsWith("zgs_upload")) return takeUpload(node, params);
  return { error: { code: -32_601, message: "Method not found" } };
}

function fileOf(node: ScriptedNode, id: unknown): FileOnNode | undefined {
  return typeof id === "string"
    ? node.files.get(id)
    : [...node.files.values()].find(({ txSeq }) => txSeq === id);
}

function infoOf(node: ScriptedNode, id: unknown) {
  const there = fileOf(node, id);
  if (!there) return null;
  const { file, txSeq, startEntryIndex, finalized, have, sizeBytes } = there;
  const tx = {
    streamIds: [],
    data: [],
    dataMerkleRoot: file.root,
    merkleNodes: [],
    startEntryIndex,
    size: sizeBytes,
    seq: txSeq,
  };
  return { tx, finalized, isCached: false, uploadedSegNum: have.size, pruned: false };
}

function takeUpload(node: ScriptedNode, [segments]: readonly unknown[]): object {
  if (node.uploads !== "takes") return { error: { code: -32_000, message: node.uploads } };
  for (const { root, index } of segments as { root: string; index: number }[]) {
    const there = node.files.get(root);
    there?.have.add(index);
    if (there && there.have.size === there.file.tree.shape.segments) there.finalized = true;
  }
  return { result: null };
}

function sendSegment(node: ScriptedNode, [id, index]: readonly unknown[], response: ServerResponse): void {
  const there = fileOf(node, id);
  const { mood } = node;
  if (mood === "answers nothing") return;
  if (mood === "never ends") sendForEver(response);
  else if (mood === "talks nonsense") response.end("<html>busy</html>");
  else if (mood === "fails with 500") response.writeHead(500).end("{}");
  else {
    const has = there && mood !== "says it has none";
    const result = has ? segmentOf(there.file, Number(index), mood) : null;
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
    if (mood === "cuts the line") sendHalf(response, text);
    else response.end(text);
  }
}

function segmentOf(file: OwnFile, index: number, mood: Mood): object {
  const sent = mood === "sends another segment" ? (index + 1) % file.tree.shape.segments : index;
  const { data: whole, proof } = file.segment(sent);
  const data = Buffer.from(mood === "sends half of it" ? whole.subarray(0, whole.length / 2) : whole);
  if (mood === "flips a bit") data[1_000 % data.length] = (data[1_000 % data.length] ?? 0) ^ 1;
  return { root: file.root, data: data.toString("base64"), index, proof, fileSize: file.bytes.length };
}

function sendHalf(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-length": text.length });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

function sendForEver(response: ServerResponse): void {
  response.write(Buffer.alloc(65_536, 32), (error) => {
    if (!error) setImmediate(sendForEver, response);
  });
}
