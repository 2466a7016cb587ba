import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { discardBody, discardRest } from "../../src/rest/http/discard-body.ts";
import { timesSent } from "../../src/rest/http/headers.ts";
import { toFailureText } from "./client-error.ts";

const CHUNKED = "chunked";
/** `uri-host [ ":" port ]` (RFC 3986, 3.2.2), which is empty for a target without an authority. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-Fv.:]+\])(?::\d*)?$/;

/**
 * Refuses compressed bodies: 415 `unsupported_media_type`, on every route, before the body is read. Node decodes no
 * transfer coding but `chunked`, and would pass on the bytes of any other.
 */
export function refuseEncodedBodies(server: FastifyInstance): void {
  server.addHook("onRequest", ({ headers }, reply, done) => {
    const coding = headers["transfer-encoding"]?.trim().toLowerCase() ?? CHUNKED;
    if (coding !== CHUNKED)
      return done(
        new AppError("unsupported_media_type", "The only supported Transfer-Encoding is chunked.", {
          param: "Transfer-Encoding",
        }),
      );
    const encoding = headers["content-encoding"]?.trim().toLowerCase() || "identity";
    if (encoding === "identity" || !hasBody(headers)) return done();
    reply.header("accept-encoding", "identity");
    done(
      new AppError("unsupported_media_type", "Send the body without a Content-Encoding.", {
        param: "Content-Encoding",
      }),
    );
  });
}

/** Reads what a refused request still sends, on every route, so that its client gets the response. */
export function discardRefusedBodies(server: FastifyInstance): void {
  server.addHook("onSend", (request, reply, _payload, done) => {
    discardBody(request, reply);
    done();
  });
}

/**
 * Answers `Expect: 100-continue` when a handler starts to read the body. Until then the request can be refused, for
 * its credential or its size, without receiving a byte of the body. When an announced body was never read, the
 * connection is closed after the response: the body would be indistinguishable from the next request.
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

/**
 * Refuses an HTTP/1.1 request without a `Host`, and any request with several or with an invalid one, as RFC 9112 (3.2)
 * requires: a proxy may have routed it by a line that is not read here.
 */
export function requireHost(server: FastifyInstance): void {
  server.addHook("onRequest", ({ raw }, reply, done) => {
    const fault = hostFault(raw);
    if (fault === undefined) return done();
    reply.header("connection", "close");
    done(new AppError("invalid_parameter", fault, { param: "Host" }));
  });
}

function hostFault({ headers: { host }, httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (host === undefined) return httpVersion === "1.1" ? "Send a Host header." : undefined;
  if (!HOST.test(host)) return "The Host header is malformed.";
  return timesSent(rawHeaders, "host") > 1 ? "Send one Host header." : undefined;
}

/** Answers 417 to an `Expect` other than `100-continue`. A body that is sent all the same is discarded. */
export function refuseUnknownExpectations(http: Server): void {
  http.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const failure = new AppError("invalid_parameter", "The only supported Expect is 100-continue.", {
      param: "Expect",
    });
    const { status, headers, text } = toFailureText(failure, 417);
    const isKept = discardRest(request, response);
    response.writeHead(status, { ...headers, ...(!isKept && { connection: "close" }) }).end(text);
  });
}

/** Whether a request announces a body. */
export function hasBody(headers: IncomingMessage["headers"]): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}
