import { z } from "zod";
import type { App } from "../app.ts";
import type { Answer } from "./answer.ts";
import { headerOf } from "./headers.ts";
import { defineRoute } from "./route.ts";
import { INDEXER_METHODS } from "./rpc/indexer-methods.ts";
import { KV_METHODS } from "./rpc/kv-methods.ts";
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  RpcError,
  SERVER_ERROR,
  toRpcError,
} from "./rpc/rpc-error.ts";
import { readJson, writeJson } from "./rpc/rpc-json.ts";
import type { RpcMethods } from "./rpc/rpc-method.ts";
import { RpcParams } from "./rpc/rpc-params.ts";
import { ZGS_METHODS } from "./rpc/zgs-methods.ts";

/** Ten segments, as clients send them, are 3.5 MB. */
const BODY_LIMIT_BYTES = 8 * 1_048_576;
const MOST_CALLS = 100;
/** What the answers of one batch take together: the calls behind that are refused. */
const MOST_ANSWER_BYTES = 32 * 1_048_576;
const LONGEST_ID = 256;

const METHODS: RpcMethods = { ...INDEXER_METHODS, ...ZGS_METHODS, ...KV_METHODS };

const id = z.union([z.string(), z.number(), z.null()]);
const request = z.object({
  jsonrpc: z.literal("2.0"),
  id: id.optional(),
  method: z.enum(Object.keys(METHODS) as [string, ...string[]]),
  params: z.array(z.unknown()).optional(),
});
/** One answer of JSON-RPC 2.0: a result, or an error. */
const response = z
  .object({
    jsonrpc: z.literal("2.0"),
    id,
    result: z.unknown().optional(),
    error: z.object({ code: z.int(), message: z.string(), data: z.string().optional() }).optional(),
  })
  .meta({ id: "RpcResponse" });

/**
 * `POST /`: JSON-RPC 2.0 with the methods of the storage network's indexer, nodes and key-value nodes, so that its
 * clients work with this origin unchanged. What fails is answered with HTTP 200: on any other status the TypeScript SDKs
 * repeat the call and lose the reason.
 */
export const callRpc = defineRoute({
  method: "POST",
  url: "/",
  summary: "Call the storage network by JSON-RPC 2.0",
  access: "public",
  errors: "rpc",
  isOpenToPages: true,
  bodyLimitBytes: BODY_LIMIT_BYTES,
  body: "bytes",
  bodies: { "application/json": z.union([request, z.array(request).min(1).max(MOST_CALLS)]) },
  answer: { json: z.union([response, z.array(response)]) },
  failure: response,
  async handle(app, { body, rawHeaders }) {
    const text = await answerTo(app, body, originOf(app, rawHeaders));
    return text === undefined ? NOTHING : { kind: "bytes", bytes: Buffer.from(text) };
  },
});

/** To notifications alone there is no answer. */
const NOTHING: Answer = { kind: "bytes", bytes: Buffer.alloc(0), status: 204 };

async function answerTo(app: App, body: Buffer, origin: string): Promise<string | undefined> {
  let calls: unknown;
  try {
    calls = readJson(body);
    if (Array.isArray(calls) && (calls.length === 0 || calls.length > MOST_CALLS))
      throw new RpcError(INVALID_REQUEST, `A batch has 1 to ${MOST_CALLS} calls`);
  } catch (error) {
    return failed(app, null, error);
  }
  if (!Array.isArray(calls)) return answerCall(app, calls, origin);
  const answers: string[] = [];
  let size = 0;
  for (const call of calls) {
    const answer =
      size > MOST_ANSWER_BYTES
        ? failed(app, idOf(call), new RpcError(SERVER_ERROR, "The answers of this batch are too large"))
        : await answerCall(app, call, origin);
    if (answer === undefined) continue;
    answers.push(answer);
    size += answer.length;
  }
  return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
}

/** One answer as JSON; undefined for a notification, which has no id. */
async function answerCall(app: App, call: unknown, origin: string): Promise<string | undefined> {
  const callId = idOf(call);
  try {
    const { method, params } = readCall(call);
    const run = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    if (!run) throw new RpcError(METHOD_NOT_FOUND, "Method not found");
    const result = await run({ app, params: new RpcParams(params), origin });
    return callId === undefined ? undefined : writeJson({ jsonrpc: "2.0", id: callId, result });
  } catch (error) {
    if (error instanceof RpcError && error.code === INVALID_REQUEST)
      return failed(app, callId ?? null, error);
    return callId === undefined ? undefined : failed(app, callId, error);
  }
}

function readCall(call: unknown): { readonly method: string; readonly params: readonly unknown[] } {
  if (!isObject(call) || typeof call.method !== "string")
    throw new RpcError(INVALID_REQUEST, "Invalid Request");
  const { params = [] } = call;
  if (params !== null && !Array.isArray(params))
    throw new RpcError(INVALID_REQUEST, "Invalid Request", "params are a list");
  return { method: call.method, params: params ?? [] };
}

/** The id of a call, to be sent back as it came; undefined without one, null for what cannot be one. */
function idOf(call: unknown): unknown {
  if (!isObject(call) || !("id" in call)) return isObject(call) ? undefined : null;
  const { id: given } = call;
  const isId =
    typeof given === "number" ||
    typeof given === "bigint" ||
    (typeof given === "string" && given.length <= LONGEST_ID);
  return isId ? given : null;
}

function failed(app: App, callId: unknown, error: unknown): string {
  const known = toRpcError(error);
  if (!known) app.log.error({ err: error }, "a call of JSON-RPC failed");
  const { code, message, data } = known ?? new RpcError(INTERNAL_ERROR, "Internal error");
  const told = { code, message, ...(data !== undefined && { data }) };
  return writeJson({ jsonrpc: "2.0", id: callId ?? null, error: told });
}

/** Where the client reaches us: the setting, else the host that it asked for, since it reached that. */
function originOf(app: App, rawHeaders: readonly string[]): string {
  const { PUBLIC_URL, HOST, PORT } = app.config;
  if (PUBLIC_URL) return PUBLIC_URL.replace(/\/$/, "");
  const host = headerOf(rawHeaders, "host") ?? "";
  return `http://${/^[A-Za-z0-9.\-_]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(host) ? host : `${HOST}:${PORT}`}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
