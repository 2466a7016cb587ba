import type { Hex } from "../../kernel/text/hex.ts";
import type { KvEntry } from "../../storage/kv/kv.service.ts";
import { MAX_NAMED_KEY_BYTES, MAX_U64 } from "../../storage/kv/stream-data.ts";
import { INTERNAL_ERROR, invalidParams, RpcError } from "./rpc-error.ts";
import { Base64Bytes } from "./rpc-json.ts";
import type { RpcCall, RpcMethod, RpcMethods } from "./rpc-method.ts";

const MAX_QUERY_BYTES = 262_144;
/** The largest value returned whole with `KV_WHOLE_VALUES`: base64 and JSON of a larger one block the event loop. */
const MAX_WHOLE_BYTES = 4 * 1_048_576;
/** A value in memory, as base64, and as part of an answer. */
const MEMORY_FACTOR = 3;

/** How the TypeScript SDKs spell `kv_isAdmin`. */
export const IS_ADMIN_ALIAS = "kv_IsAdmin";

/** The key-value node's methods (facts: storage section 2.3). Keys and values are base64. */
export const KV_METHODS: RpcMethods = {
  kv_getStatus: async () => true,
  kv_getHoldingStreamIds: ({ app }) => app.kv.heldStreams(),
  kv_getTransactionResult: async ({ app, params }) => {
    const [transaction] = await app.kv.transactions([params.u64(0, "tx_seq")]);
    return transaction?.result ?? null;
  },
  kv_getReplayProgress: async ({ app }) => {
    const { nextSeq, firstSeq } = await app.kv.progress();
    return { appliedSeq: nextSeq, firstTxSeq: firstSeq ?? null };
  },

  kv_getValue: async (call) => {
    const { app, params } = call;
    const part = readPart(call, 2);
    const entry = await app.kv.entry(params.hash(0, "stream_id"), keyOf(call, 1), part.version);
    // Never null: the TypeScript SDKs read a member of the result.
    if (!entry || entry.sizeBytes === 0) return { version: entry?.version ?? 0, data: "", size: 0 };
    return { version: entry.version, data: await dataOf(call, entry, part), size: entry.sizeBytes };
  },
  kv_getNext: (call) => fromKey(call, "up"),
  kv_getPrev: (call) => fromKey(call, "down"),
  kv_getFirst: (call) => neighbour(call, { direction: "up" }, readPart(call, 1)),
  kv_getLast: (call) => neighbour(call, { direction: "down" }, readPart(call, 1)),

  kv_hasWritePermission: async (call) => {
    const key = keyOf(call, 2);
    return (await rightsOf(call, { key, versionAt: 3 })).hasWritePermission;
  },
  kv_isAdmin: isAdmin,
  [IS_ADMIN_ALIAS]: isAdmin,
  kv_isWriterOfStream: async (call) => (await rightsOf(call, { versionAt: 2 })).isWriterOfStream,
  kv_isWriterOfKey: async (call) => {
    const key = keyOf(call, 2);
    return (await rightsOf(call, { key, versionAt: 3 })).isWriterOfKey;
  },
  kv_isSpecialKey: async (call) => {
    const { app, params } = call;
    const at = { streamId: params.hash(0, "stream_id"), key: keyOf(call, 1) };
    return app.kv.isSpecialKey(at, params.optionalU64(2, "version"));
  },
};

async function isAdmin(call: RpcCall): ReturnType<RpcMethod> {
  return (await rightsOf(call, { versionAt: 2 })).isAdmin;
}

/** The requested part of a value, and its version. */
type Part = { readonly start: number; readonly length: number; readonly version: bigint };

function readPart({ params }: RpcCall, at: number, versionAt = at + 2): Part {
  const length = params.index(at + 1, "len");
  if (length > MAX_QUERY_BYTES) throw invalidParams("len", "query length too large");
  return {
    start: params.index(at, "start_index"),
    length,
    version: params.optionalU64(versionAt, "version") ?? MAX_U64,
  };
}

type From = { readonly direction: "up" | "down"; readonly from?: { key: Buffer; isInclusive: boolean } };

function fromKey(call: RpcCall, direction: "up" | "down"): ReturnType<RpcMethod> {
  const from = { key: keyOf(call, 1), isInclusive: call.params.bool(4, "inclusive") };
  return neighbour(call, { direction, from }, readPart(call, 2, 5));
}

async function neighbour(call: RpcCall, where: From, part: Part) {
  const streamId = call.params.hash(0, "stream_id");
  const entry = await call.app.kv.neighbour({ ...where, streamId, version: part.version });
  if (!entry) return null;
  return {
    version: entry.version,
    key: entry.key.toString("base64"),
    data: await dataOf(call, entry, part),
    size: entry.sizeBytes,
  };
}

async function dataOf(
  { app, needMemory }: RpcCall,
  entry: KvEntry,
  { start, length }: Part,
): Promise<Base64Bytes | string> {
  // A request for no bytes, as iterators send, is allowed at any offset.
  if (length === 0) return "";
  if (start > entry.sizeBytes) throw invalidParams("start_index", "start index is greater than value length");
  const isWhole =
    app.config.KV_WHOLE_VALUES === "on" &&
    start === 0 &&
    length === MAX_QUERY_BYTES &&
    entry.sizeBytes <= MAX_WHOLE_BYTES;
  const wanted = Math.min(entry.sizeBytes - start, isWhole ? entry.sizeBytes : length);
  needMemory(wanted * MEMORY_FACTOR);
  const bytes = await app.kv.read(entry, start, wanted).catch(missing);
  return new Base64Bytes(bytes);
}

function missing(error: unknown): never {
  const isGone = error instanceof Error && "code" in error && /^file_/.test(String(error.code));
  throw isGone ? new RpcError(INTERNAL_ERROR, "Internal error", "key data is missing") : error;
}

function rightsOf(
  { app, params }: RpcCall,
  { key, versionAt }: { readonly key?: Buffer; readonly versionAt: number },
) {
  const account: Hex = params.address(0, "account");
  const at = { streamId: params.hash(1, "stream_id"), key };
  return app.kv.rights(account, at, params.optionalU64(versionAt, "version"));
}

function keyOf({ params }: RpcCall, at: number): Buffer {
  const key = params.base64(at, "key", MAX_NAMED_KEY_BYTES);
  if (key.length === 0) throw invalidParams("key", "key is empty");
  return key;
}
