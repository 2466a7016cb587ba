import {
  INVALID_PARAMS,
  isJSONRPCRequest,
  PARSE_ERROR,
  type RequestId,
  specTypeSchemas,
} from "@modelcontextprotocol/server";
import { AppError } from "../../src/kernel/errors.ts";

const MAX_REASON_CHARACTERS = 200;

/** The types of the requests that are served here, by method. */
const TYPES = {
  initialize: "InitializeRequest",
  "tools/list": "ListToolsRequest",
  "tools/call": "CallToolRequest",
  "resources/list": "ListResourcesRequest",
  "resources/templates/list": "ListResourceTemplatesRequest",
  "resources/read": "ReadResourceRequest",
} as const;

/** An error of JSON-RPC 2.0, as it is sent. */
export type RpcFailure = {
  readonly jsonrpc: "2.0";
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
};

/**
 * The error for a request whose params do not have the type of its method, naming the first field at fault; undefined
 * for every other message. The SDK answers such a request as an internal error, with the output of its validator.
 */
export async function paramsFault(message: unknown): Promise<RpcFailure | undefined> {
  if (!isJSONRPCRequest(message) || !isServed(message.method)) return undefined;
  const { issues } = await specTypeSchemas[TYPES[message.method]]["~standard"].validate(message);
  const [issue] = issues ?? [];
  if (issue === undefined) return undefined;
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  const reason = `${path || "params"}: ${issue.message}`.slice(0, MAX_REASON_CHARACTERS);
  return failure(message.id, INVALID_PARAMS, `Invalid params: ${reason}`);
}

/** The error of JSON-RPC for a body that cannot be parsed; undefined for another failure. */
export function parseFault(error: unknown): RpcFailure | undefined {
  if (!(error instanceof AppError) || error.code !== "invalid_body") return undefined;
  return failure(null, PARSE_ERROR, `Parse error: ${error.message}`);
}

function failure(id: RequestId | null, code: number, message: string): RpcFailure {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function isServed(method: string): method is keyof typeof TYPES {
  return Object.hasOwn(TYPES, method);
}
