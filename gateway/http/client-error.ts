import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "../../src/kernel/errors.ts";
import { newRequestId } from "../../src/kernel/text/ids.ts";
import { toErrorAnswer } from "../../src/rest/errors/error-body.ts";

/**
 * Answers what is no HTTP request, or not in time, with the body and headers of every failure, and ends its connection.
 * Node reports it with the socket alone: there is no request yet.
 */
export function answerClientError(error: Error, socket: Socket): void {
  const code = "code" in error ? error.code : undefined;
  if (code === "ECONNRESET" || socket.destroyed) return;
  if (socket.writable)
    socket.write(toMessage(failureOf(code), code === "HPE_HEADER_OVERFLOW" ? 431 : undefined));
  socket.destroy(error);
}

function failureOf(code: unknown): AppError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new AppError("body_timeout", "The request did not come in time.");
  if (code === "HPE_HEADER_OVERFLOW") return new AppError("invalid_parameter", "The headers are too large.");
  return new AppError("invalid_parameter", "The request is not well-formed HTTP.");
}

/** A failure on the wire, without Fastify. */
type FailureText = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

/** A failure as it is sent where Fastify does not answer. `knownStatus` is one that no code of ours has. */
export function toFailureText(failure: AppError, knownStatus?: number): FailureText {
  const requestId = newRequestId();
  const { status, headers, body } = toErrorAnswer(failure, requestId);
  const text = JSON.stringify(body);
  return {
    status: knownStatus ?? status,
    headers: {
      ...headers,
      "x-request-id": requestId,
      "cache-control": "no-store",
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(text)),
    },
    text,
  };
}

function toMessage(failure: AppError, knownStatus: number | undefined): string {
  const { status, headers, text } = toFailureText(failure, knownStatus);
  const lines = Object.entries({ ...headers, connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", text].join("\r\n");
}
