import type { App } from "../../app.ts";
import { isJsonObject, LongText } from "../json-parts/json-parts.ts";
import { INDEXER_METHODS } from "./indexer-methods.ts";
import { KV_METHODS } from "./kv-methods.ts";
import { INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError, toRpcError } from "./rpc-error.ts";
import { writeJson } from "./rpc-json.ts";
import type { RpcCall, RpcMethods } from "./rpc-method.ts";
import { RpcParams } from "./rpc-params.ts";
import { ZGS_METHODS } from "./zgs-methods.ts";

/** Every method of JSON-RPC. */
export const METHODS: RpcMethods = { ...INDEXER_METHODS, ...ZGS_METHODS, ...KV_METHODS };

/** The fields that all calls of a request share. */
export type CallContext = Omit<RpcCall, "params">;

const VERSION = "2.0";
const MAX_ID_LENGTH = 256;
const ID_RULE = `a number, or a string of at most ${MAX_ID_LENGTH} characters`;

/** One answer as JSON; undefined for a notification, which has no id. */
export async function answerCall(context: CallContext, call: unknown): Promise<Buffer | undefined> {
  const { app } = context;
  const callId = idOf(call);
  try {
    const { method, params } = readCall(call);
    const run = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    if (!run) throw new RpcError(METHOD_NOT_FOUND, "Method not found");
    const result = await run({ ...context, params: new RpcParams(params) });
    return callId === undefined ? undefined : writeJson({ jsonrpc: "2.0", id: callId, result });
  } catch (error) {
    if (error instanceof RpcError && error.code === INVALID_REQUEST)
      return failed(app, callId ?? null, error);
    return callId === undefined ? undefined : failed(app, callId, error);
  }
}

/** A method and its parameters. Throws an `RpcError` for what is no call, or has an id that cannot be returned. */
function readCall(call: unknown): { readonly method: string; readonly params: readonly unknown[] } {
  if (isJsonObject(call) && call.method instanceof LongText)
    throw new RpcError(METHOD_NOT_FOUND, "Method not found");
  if (!isJsonObject(call) || typeof call.method !== "string")
    throw new RpcError(INVALID_REQUEST, "Invalid Request");
  if (idOf(call) === null && call.id !== null)
    throw new RpcError(INVALID_REQUEST, "Invalid Request", `id: ${ID_RULE}`);
  const { jsonrpc = VERSION, params = [] } = call;
  if (jsonrpc !== VERSION)
    throw new RpcError(INVALID_REQUEST, "Invalid Request", `jsonrpc: must be "${VERSION}", or absent`);
  if (params !== null && !Array.isArray(params))
    throw new RpcError(INVALID_REQUEST, "Invalid Request", "params: must be a list");
  return { method: call.method, params: params ?? [] };
}

/** The id of a call, returned unchanged; undefined without one, null for an invalid one. */
export function idOf(call: unknown): unknown {
  if (!isJsonObject(call) || !("id" in call)) return isJsonObject(call) ? undefined : null;
  const { id } = call;
  const isId =
    typeof id === "number" ||
    typeof id === "bigint" ||
    (typeof id === "string" && id.length <= MAX_ID_LENGTH);
  return isId ? id : null;
}

/** A failed call as JSON. */
export function failed(app: App, callId: unknown, error: unknown): Buffer {
  const known = toRpcError(error);
  if (!known) app.log.error({ err: error }, "a JSON-RPC call failed");
  const { code, message, data } = known ?? new RpcError(INTERNAL_ERROR, "Internal error");
  const shown = { code, message, ...(data !== undefined && { data }) };
  return writeJson({ jsonrpc: "2.0", id: callId ?? null, error: shown });
}
