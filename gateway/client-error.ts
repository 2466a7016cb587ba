import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "../src/kernel/errors.ts";
import { newRequestId } from "../src/kernel/ids.ts";
import { toErrorAnswer } from "../src/rest/error-body.ts";

/**
 * Answers what is no HTTP request, or not in time, with the body and headers of every failure, and ends its connection.
 * Node reports it with the socket alone: there is no request yet.
 */
export function answerClientError(error: Error, socket: Socket): void {
  const code = "code" in error ? error.code : undefined;
  if (code === "ECONNRESET" || socket.destroyed) return;
  if (socket.writable)
    socket.write(toText(failureOf(code), code === "HPE_HEADER_OVERFLOW" ? 431 : undefined));
  socket.destroy(error);
}

function failureOf(code: unknown): AppError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new AppError("body_timeout", "The request did not come in time.");
  if (code === "HPE_HEADER_OVERFLOW") return new AppError("invalid_parameter", "The headers are too large.");
  return new AppError("invalid_parameter", "The request is not well-formed HTTP.");
}

/** No code of ours has the status of headers that are too large. */
function toText(failure: AppError, knownStatus: number | undefined): string {
  const requestId = newRequestId();
  const { status, headers, body } = toErrorAnswer(failure, requestId);
  const sent = knownStatus ?? status;
  const text = JSON.stringify(body);
  const all = {
    ...headers,
    "x-request-id": requestId,
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${sent} ${STATUS_CODES[sent]}`, ...lines, "", text].join("\r\n");
}
