import { AppError } from "../../kernel/errors.ts";

/** A JSON-RPC error. Clients of the storage network match its texts (facts: storage section 2.2). */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: string | undefined;

  constructor(code: number, message: string, data?: string) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;
export const SERVER_ERROR = -32_000;

/** The failure of an invalid parameter, named as in the network's nodes. */
export function invalidParams(name: string, why: string): RpcError {
  return new RpcError(INVALID_PARAMS, `Invalid params: ${name}`, why);
}

/**
 * Converts a thrown error into a JSON-RPC error; undefined for an unexpected one, whose text is not sent to clients.
 */
export function toRpcError(error: unknown): RpcError | undefined {
  if (error instanceof RpcError) return error;
  if (!(error instanceof AppError)) return undefined;
  const { code, message, param } = error;
  if (code === "segment_refused" && message === "data root and tx seq not match")
    return new RpcError(INTERNAL_ERROR, "Internal error", message);
  if (code === "range_not_satisfiable") return new RpcError(SERVER_ERROR, message);
  if (code === "segment_refused") return invalidParams(nameOf(param ?? "data"), message);
  if (code === "file_too_large")
    return invalidParams("file_size", "caching of large file when tx is unavailable is not supported");
  if (code === "invalid_parameter" || code === "invalid_body")
    return invalidParams(nameOf(param ?? "params"), message);
  if (code === "file_not_found") return new RpcError(SERVER_ERROR, "file not found");
  if (code === "unavailable" || code === "overloaded" || error.status < 500)
    return new RpcError(SERVER_ERROR, message);
  return new RpcError(INTERNAL_ERROR, "Internal error", message);
}

/** A failure before any call was read: of the body itself, or of the sender. */
export function toRpcFailure(message: string, status: number): object {
  const code = status >= 500 ? INTERNAL_ERROR : INVALID_REQUEST;
  return { jsonrpc: "2.0", id: null, error: { code, message } };
}

/** The network's nodes write names with underscores. */
function nameOf(param: string): string {
  return param.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
