import type { App } from "../../app.ts";
import { settleAll } from "../../kernel/async/settle-all.ts";
import { isHash32, lowerHex } from "../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../../storage/merkle/shape.ts";
import type { FileId, PutOutcome, Segment } from "../../storage/node/storage-node.ts";
import type { UploadSegment } from "../../storage/uploads/uploads.service.ts";
import { toFileInfo } from "../file/file-info-shape.ts";
import { isJsonObject, LongText } from "../json-parts/json-parts.ts";
import { toNodeStatus } from "../node/status.ts";
import { invalidParams, RpcError, SERVER_ERROR } from "./rpc-error.ts";
import { Base64Bytes } from "./rpc-json.ts";
import type { RpcCall, RpcMethods } from "./rpc-method.ts";
import { type RpcParams, readBase64, readHash, readU64 } from "./rpc-params.ts";

/** Maximum chunks per download call. */
const MAX_CHUNKS = 1_024;
/** Maximum segments per upload call; a body of 100 MiB has room for 299 whole ones. */
const MAX_SEGMENTS = 400;
/** Concurrent uploads of one call; a process allows 256. */
const MAX_UPLOADS_AT_ONCE = 16;
/** The merkle path of a file of 2^64 bytes is shorter. */
const MAX_PROOF_LENGTH = 64;
/** A whole segment in base64. */
export const MAX_DATA_CHARACTERS = Math.ceil(SEGMENT_BYTES / 3) * 4;

/**
 * The storage node's methods (facts: storage section 2.2). Uploads by `txSeq` return 0 where a node returns null: older
 * TypeScript SDKs treat null as a failure, and no other client reads the result. A repeated upload returns the same,
 * since those SDKs fail on a node's "already uploaded"; uploads by root have the node's errors. Methods about the
 * flow's own tree do not exist here: a gateway stores the trees of files only.
 */
export const ZGS_METHODS: RpcMethods = {
  zgs_getStatus: async ({ app }) => toNodeStatus(await app.submissions.status()),
  zgs_getShardConfig: async () => ({ shardId: 0, numShard: 1 }),

  zgs_uploadSegment: async (call) => {
    const [kind] = await uploadAll(call, [readSegment(call.params.raw(0))]);
    if (kind === "duplicate")
      throw new RpcError(SERVER_ERROR, "segment has already been uploaded or is being uploaded");
    return kind === "finalized" ? refuseWhole() : null;
  },
  zgs_uploadSegments: async (call) => {
    const kinds = await uploadAll(call, readSegments(call.params));
    return kinds.length > 0 && kinds.every((kind) => kind === "finalized") ? refuseWhole() : null;
  },
  zgs_uploadSegmentByTxSeq: async (call) => {
    const { params } = call;
    await uploadAll(call, [{ ...readSegment(params.raw(0)), txSeq: params.u64(1, "tx_seq") }]);
    return 0;
  },
  zgs_uploadSegmentsByTxSeq: async (call) => {
    const txSeq = call.params.u64(1, "tx_seq");
    await uploadAll(
      call,
      readSegments(call.params).map((segment) => ({ ...segment, txSeq })),
    );
    return 0;
  },

  zgs_downloadSegment: (call) => download(call, { root: call.params.hash(0, "data_root") }),
  zgs_downloadSegmentByTxSeq: (call) => download(call, { txSeq: call.params.u64(0, "tx_seq") }),
  zgs_downloadSegmentWithProof: (call) => downloadProven(call, { root: call.params.hash(0, "data_root") }),
  zgs_downloadSegmentWithProofByTxSeq: (call) =>
    downloadProven(call, { txSeq: call.params.u64(0, "tx_seq") }),

  zgs_checkFileFinalized: async ({ app, params }) => {
    const id = params.raw(0);
    const isRoot = typeof id === "string" && isHash32(id);
    const [file] = await app.files.find([
      isRoot ? { root: lowerHex(id) } : { txSeq: readU64(id, "tx_seq_or_root") },
    ]);
    return file ? file.finalized : null;
  },
  zgs_getFileInfo: ({ app, params }) => fileInfo(app, { root: params.hash(0, "data_root") }),
  zgs_getFileInfoByTxSeq: ({ app, params }) => fileInfo(app, { txSeq: params.u64(0, "tx_seq") }),
};

/** Uploads all segments unless the client disconnects; returns their outcomes, or throws the first failure. */
async function uploadAll(
  { app, signal }: RpcCall,
  segments: readonly UploadSegment[],
): Promise<readonly PutOutcome["kind"][]> {
  const outcomes = await settleAll(segments, MAX_UPLOADS_AT_ONCE, (segment) => {
    if (signal.aborted) throw new RpcError(SERVER_ERROR, "The client has disconnected");
    return app.uploads.put(segment);
  });
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value.kind;
  });
}

function refuseWhole(): never {
  throw invalidParams("root", "already uploaded and finalized");
}

async function download({ app, params }: RpcCall, id: FileId): Promise<Base64Bytes | null> {
  const start = params.index(1, "start_index");
  const end = params.index(2, "end_index");
  if (start >= end) throw invalidParams("end_index", "invalid chunk index");
  if (end - start > MAX_CHUNKS) throw invalidParams("end_index", `exceeds maximum chunks ${MAX_CHUNKS}`);
  const chunks = await app.segments.chunks(id, start, end);
  return chunks ? new Base64Bytes(chunks) : null;
}

async function downloadProven({ app, params }: RpcCall, id: FileId) {
  const segment = await app.segments.proven(id, params.index(1, "index"));
  return segment ? toWire(segment) : null;
}

function toWire({ root, data, index, proof, sizeBytes }: Segment) {
  return { root, data: new Base64Bytes(data), index, proof, fileSize: sizeBytes };
}

async function fileInfo(app: App, id: FileId) {
  const [file] = await app.files.find([id]);
  if (!file) return null;
  const { tx, ...state } = toFileInfo(file);
  const submission = await app.submissions.find(file.txSeq);
  // A node reports the depth of a tree, which is its height plus one.
  const merkleNodes = submission?.nodes.map(({ root, height }) => [height + 1, root]) ?? [];
  return { tx: { ...tx, data: [], merkleNodes }, ...state };
}

function readSegments(params: RpcParams): readonly UploadSegment[] {
  const segments = params.raw(0);
  if (!Array.isArray(segments)) throw invalidParams("segments", "expected a list of segments");
  if (segments.length > MAX_SEGMENTS) throw invalidParams("segments", `more than ${MAX_SEGMENTS} segments`);
  return segments.map(readSegment);
}

function readSegment(value: unknown): UploadSegment {
  if (!isJsonObject(value)) throw invalidParams("segment", "expected a segment");
  const { data: text } = value;
  if ((typeof text === "string" || text instanceof LongText) && text.length > MAX_DATA_CHARACTERS)
    throw invalidParams("data", "invalid data length");
  const data = readBase64(text, "data", SEGMENT_BYTES);
  if (data.length === 0) throw new RpcError(SERVER_ERROR, "data is empty");
  return {
    root: readHash(value.root, "root"),
    index: readPlace(value.index, "index"),
    data,
    proof: readProof(value.proof),
    ...(value.fileSize !== undefined && { sizeBytes: readPlace(value.fileSize, "file_size") }),
  };
}

function readProof(value: unknown): UploadSegment["proof"] {
  if (!isJsonObject(value)) throw invalidParams("proof", "expected a proof");
  // Clients in Go write an empty list as null.
  const lemma = value.lemma === null ? [] : value.lemma;
  const path = value.path === null ? [] : value.path;
  if (!Array.isArray(lemma) || !Array.isArray(path)) throw invalidParams("proof", "expected a proof");
  if (lemma.length > MAX_PROOF_LENGTH + 2 || path.length > MAX_PROOF_LENGTH)
    throw invalidParams("proof", "invalid proof");
  return {
    lemma: lemma.map((hash) => readHash(hash, "proof")),
    path: path.map((isLeft) => {
      if (typeof isLeft !== "boolean") throw invalidParams("proof", "expected booleans");
      return isLeft;
    }),
  };
}

function readPlace(value: unknown, name: string): number {
  const place = readU64(value, name);
  if (place > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidParams(name, "number too large");
  return Number(place);
}
