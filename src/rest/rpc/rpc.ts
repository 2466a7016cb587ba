import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../http/answer.ts";
import { headerOf } from "../http/headers.ts";
import { isJsonObject, type JsonParts } from "../json-parts/json-parts.ts";
import { defineRoute } from "../route.ts";
import { BatchAnswers } from "./batch-answers.ts";
import { answerCall, failed, METHODS } from "./call.ts";
import { IS_ADMIN_ALIAS } from "./kv-methods.ts";
import { INVALID_REQUEST, RpcError } from "./rpc-error.ts";
import { readJson } from "./rpc-json.ts";
import { MAX_DATA_CHARACTERS } from "./zgs-methods.ts";

/** The limit of the network's own nodes: 299 whole segments. */
const BODY_LIMIT_BYTES = 100 * 1_048_576;
const MAX_CALLS = 100;
/** A segment as bytes, as base64 in a string and in bytes, in an answer, and in the socket's buffer. */
const SEGMENT_ANSWER_BYTES = 2 * 1_048_576;
const SEGMENT_METHODS = /^zgs_downloadSegment/;

const id = z.union([z.string(), z.number(), z.null()]);
const methods = Object.keys(METHODS).filter((name) => name !== IS_ADMIN_ALIAS);
const request = z.object({
  jsonrpc: z.literal("2.0").optional(),
  id: id.optional(),
  // Apart from the others: generated clients refuse an enumeration with two values that differ only in case.
  method: z.union([z.enum(methods), z.literal(IS_ADMIN_ALIAS)]),
  params: z.array(z.unknown()).nullish(),
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
 * `POST /`: JSON-RPC 2.0 with the methods of the storage network's indexer, nodes and key-value nodes, so that clients
 * of the network work with this origin unchanged. Errors have HTTP 200: on any other status the TypeScript SDKs retry
 * the call and lose the reason.
 */
export const callRpc = defineRoute({
  method: "POST",
  url: "/",
  summary: "Call the storage network over JSON-RPC 2.0",
  access: "public",
  errors: "rpc",
  // The URL of an RPC endpoint often has query parameters of its provider, which are ignored.
  query: z.looseObject({}),
  allowAnyOrigin: true,
  bodyLimitBytes: BODY_LIMIT_BYTES,
  body: "bytes",
  readsParts: { maxTextLength: MAX_DATA_CHARACTERS },
  bodies: { "application/json": z.union([request, z.array(request).min(1).max(MAX_CALLS)]) },
  answer: { json: z.union([response, z.array(response)]), empty: "Only notifications were sent." },
  failure: response,
  async handle(app, { parts, rawHeaders, signal, reserve, count }) {
    const memory = new AnswerMemory(reserve);
    const context = {
      app,
      signal,
      origin: originOf(app, rawHeaders),
      needMemory: (bytes: number) => memory.need(bytes),
    };
    let calls: unknown;
    try {
      calls = readCalls(parts);
    } catch (error) {
      return jsonAnswer(failed(app, null, error));
    }
    if (Array.isArray(calls)) await count(calls.length - 1);
    // Reserved before any call runs: later a failure could only refuse single calls.
    memory.need(largestAnswer(calls));
    if (!Array.isArray(calls)) {
      const answer = await answerCall(context, calls);
      return answer === undefined ? NOTHING : jsonAnswer(answer);
    }
    const answers = new BatchAnswers(context, calls);
    const first = await answers.next();
    if (first.done) return NOTHING;
    if (answers.isComplete) return { kind: "bytes", bytes: first.value };
    const pieces = answers.startingWith(first.value);
    return { kind: "file", status: 200, headers: JSON_HEADERS, body: pieces, bufferBytes: 0 };
  },
});

/** Notifications have no answer. */
const NOTHING: Answer = { kind: "bytes", bytes: Buffer.alloc(0), status: 204 };
const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };

function readCalls(body: JsonParts): unknown {
  const calls = readJson(body);
  if (Array.isArray(calls) && (calls.length === 0 || calls.length > MAX_CALLS))
    throw new RpcError(INVALID_REQUEST, `A batch has 1 to ${MAX_CALLS} calls`);
  return calls;
}

function jsonAnswer(bytes: Buffer): Answer {
  return { kind: "bytes", bytes };
}

/** Memory for the largest answer of these calls, estimated by method. */
function largestAnswer(calls: unknown): number {
  const sizes = (Array.isArray(calls) ? calls : [calls]).map((call) =>
    isJsonObject(call) && typeof call.method === "string" && SEGMENT_METHODS.test(call.method)
      ? SEGMENT_ANSWER_BYTES
      : 0,
  );
  return Math.max(...sizes);
}

/** Reserves the memory of the largest answer of a request: the calls of a batch are answered one after another. */
class AnswerMemory {
  readonly #reserve: (bytes: number) => void;
  #reservedBytes = 0;

  constructor(reserve: (bytes: number) => void) {
    this.#reserve = reserve;
  }

  need(bytes: number): void {
    if (bytes <= this.#reservedBytes) return;
    this.#reserve(bytes - this.#reservedBytes);
    this.#reservedBytes = bytes;
  }
}

/** The URL at which the client reaches this product: the setting, else the `Host` that the client sent. */
function originOf(app: App, rawHeaders: readonly string[]): string {
  const { PUBLIC_URL, HOST, PORT } = app.config;
  if (PUBLIC_URL) return PUBLIC_URL.replace(/\/$/, "");
  const host = headerOf(rawHeaders, "host") ?? "";
  return `http://${/^[A-Za-z0-9.\-_]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(host) ? host : `${HOST}:${PORT}`}`;
}
