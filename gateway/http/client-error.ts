import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "../../src/kernel/errors.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { newRequestId } from "../../src/kernel/text/ids.ts";
import { toErrorAnswer } from "../../src/rest/errors/error-body.ts";

const lastResponses = new Slot<Socket, ServerResponse>();

/** Remembers the response to the last request of each connection, for `answerClientError`. */
export function rememberLastResponses(http: Server): void {
  http.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    lastResponses.set(socket, response);
  });
}

/**
 * Answers a malformed or late HTTP request with the common error body and headers, and closes its connection. Node
 * reports it with the socket only: there is no request object yet. Nothing is written into a response that is being
 * sent, or after one whose request is still arriving.
 */
export function answerClientError(error: Error, socket: Socket): void {
  const code = "code" in error ? error.code : undefined;
  if (code === "ECONNRESET" || socket.destroyed) return;
  const last = lastResponses.get(socket);
  const isBetween = !last?.headersSent || (last.req.complete && last.writableFinished);
  if (socket.writable && isBetween)
    socket.write(toMessage(failureOf(code), code === "HPE_HEADER_OVERFLOW" ? 431 : undefined));
  socket.destroy(error);
}

function failureOf(code: unknown): AppError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new AppError("body_timeout", "The request did not arrive in time.");
  if (code === "HPE_HEADER_OVERFLOW") return new AppError("invalid_parameter", "The headers are too large.");
  return new AppError("invalid_parameter", "The request is not well-formed HTTP.");
}

/** An error response as text, without Fastify. */
type FailureText = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

/** An error response where Fastify does not answer. `knownStatus` is a status that none of our codes has. */
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
