import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { AppError } from "../src/kernel/errors.ts";

/** Refuses every body that is compressed: 415 `unsupported_media_type`, on every route, before it is read. */
export function refuseEncodedBodies(server: FastifyInstance): void {
  server.addHook("onRequest", ({ headers }, reply, done) => {
    const encoding = headers["content-encoding"]?.trim().toLowerCase() || "identity";
    if (encoding === "identity" || !hasBody(headers)) return done();
    reply.header("accept-encoding", "identity").header("connection", "close");
    done(
      new AppError("unsupported_media_type", "Send the body without a Content-Encoding.", {
        param: "Content-Encoding",
      }),
    );
  });
}

/**
 * Answers `Expect: 100-continue` when somebody begins to read the body: until then the request may be refused, for its
 * credential or its size, without a byte of it. A connection on which a body was announced and never asked for is
 * closed behind the answer, as nobody can tell that body from the next request.
 */
export function continueWhenRead(http: Server): void {
  http.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    const { shouldKeepAlive } = response;
    response.shouldKeepAlive = false;
    request.once("resume", () => {
      if (response.headersSent) return;
      response.shouldKeepAlive = shouldKeepAlive;
      response.writeContinue();
    });
    http.emit("request", request, response);
  });
}

/** Whether a request announces a body. */
export function hasBody(headers: IncomingMessage["headers"]): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}
