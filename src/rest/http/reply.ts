import type { FastifyReply } from "fastify";
import type { App } from "../../app.ts";
import { ClientLeftError, LoggedError } from "../../kernel/errors.ts";
import { exactJson } from "../../kernel/text/exact-json.ts";
import type { ClientExchange } from "../../receipts/client-exchange.ts";
import { toEnvelopeFailure } from "../envelope.ts";
import { toAnthropicError } from "../errors/anthropic-error.ts";
import { toAppError, toErrorAnswer } from "../errors/error-body.ts";
import type { Route } from "../route.ts";
import { toRpcFailure } from "../rpc/rpc-error.ts";
import type { Answer } from "./answer.ts";
import { discardBody } from "./discard-body.ts";
import { eventSink } from "./event-sink.ts";
import { sendFile } from "./send-file.ts";

/** The request's fields that its response needs. */
type AnsweredRequest = {
  readonly requestId: string;
  readonly errors: Route["errors"];
  /** Hashes what is sent. */
  readonly client?: ClientExchange | undefined;
};

/** Sends the answer of an endpoint. A stream has ended when this resolves. */
export async function sendAnswer(
  app: App,
  answer: Answer,
  { requestId, errors, client }: AnsweredRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const headers = { ...idHeaders(requestId, errors), "cache-control": "no-store" };
  if (answer.kind === "file") {
    const { CLIENT_STALL_MS: stallMs } = app.config;
    const memory = app.load.requests.of(reply.request.raw, reply.raw);
    await sendFile(reply, answer, { more: headers, stallMs, memory }).catch((error) => {
      if (!reply.sent) throw error;
      app.log.warn({ err: error, requestId }, "a download was interrupted");
    });
    return undefined;
  }
  if (answer.kind === "json")
    return reply
      .code(answer.status ?? 200)
      .headers({ ...headers, "content-type": "application/json; charset=utf-8" })
      .send(exactJson(answer.value));
  if (answer.kind === "bytes") {
    client?.sent(answer.bytes);
    client?.end();
    return reply
      .code(answer.status ?? 200)
      .headers({ ...headers, "content-type": "application/json; charset=utf-8", ...answer.headers })
      .send(answer.bytes);
  }
  reply.hijack();
  try {
    const { STREAM_KEEP_ALIVE_MS: keepAliveMs, CLIENT_STALL_MS: stallMs } = app.config;
    const options = { keepAliveMs, stallMs, client };
    await answer.run(eventSink(reply.raw, { ...headersOf(reply), ...headers }, options));
  } catch (error) {
    const { status, headers: more, body } = failureOf(app, error, requestId, errors);
    if (reply.raw.writableEnded) app.log.error({ err: error, requestId }, "a stream failed after its end");
    else if (reply.raw.headersSent) reply.raw.end(hashed(errorEvent(errors, body), reply, client));
    else {
      reply.raw.writeHead(status, {
        ...headersOf(reply),
        ...headers,
        ...more,
        "content-type": "application/json; charset=utf-8",
      });
      reply.raw.end(hashed(JSON.stringify(body), reply, client));
    }
  } finally {
    client?.end();
  }
  return undefined;
}

/** Hashes a text that is sent, unless the client has left. */
function hashed(text: string, { raw }: FastifyReply, client: ClientExchange | undefined): string {
  if (!raw.destroyed) client?.sent(text);
  return text;
}

/** Sends a failure in the endpoint's error format. */
export function sendFailure(
  app: App,
  error: unknown,
  { requestId, errors, client }: AnsweredRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, headers, body } = failureOf(app, error, requestId, errors);
  if (client) {
    hashed(JSON.stringify(body), reply, client);
    client.end();
  }
  const all = { ...idHeaders(requestId, errors), "cache-control": "no-store", ...headers };
  if (status < 600) return reply.code(status).headers(all).send(body);
  // The original storage gateway has a status that neither HTTP nor Fastify allows.
  const type = { "content-type": "application/json; charset=utf-8" };
  discardBody(reply.request, reply);
  reply.hijack();
  reply.raw.writeHead(status, { ...headersOf(reply), ...all, ...type }).end(JSON.stringify(body));
  return reply;
}

/** A failure as an event of a stream whose headers were sent: no later event looks like a regular end. */
function errorEvent(errors: Route["errors"], body: object): string {
  return `${errors === "anthropic" ? "event: error\n" : ""}data: ${JSON.stringify(body)}\n\n`;
}

/** A failure in the endpoint's error format. */
function failureOf(app: App, error: unknown, requestId: string, errors: Route["errors"]) {
  const { status, headers, body } = toErrorAnswer(error, requestId);
  logUnexpected(app, body.error.code, error, requestId);
  if (errors === "storage")
    return { headers, ...toEnvelopeFailure(toAppError(error), app.config.STORAGE_STATUS) };
  if (errors === "rpc") return { status, headers, body: toRpcFailure(body.error.message, status) };
  return errors === "openai" ? { status, headers, body } : { headers, ...toAnthropicError(status, body) };
}

/** Anthropic's clients read the request id from `request-id`. */
function idHeaders(requestId: string, errors: Route["errors"]): Readonly<Record<string, string>> {
  return { "x-request-id": requestId, ...(errors === "anthropic" && { "request-id": requestId }) };
}

function logUnexpected(app: App, code: string, error: unknown, requestId: string): void {
  if (error instanceof ClientLeftError || error instanceof LoggedError) return;
  if (isDisconnect(error))
    app.log.debug({ err: error, requestId }, "a client disconnected while sending its request");
  else if (code === "internal_error" || code === "unavailable")
    app.log.error({ err: error, requestId }, "a request failed");
}

/** The error that Node emits on a request whose connection ends before its body does. */
function isDisconnect(error: unknown): boolean {
  return (
    error instanceof Error && error.message === "aborted" && "code" in error && error.code === "ECONNRESET"
  );
}

/** The headers set on a reply before it was hijacked. */
function headersOf(reply: FastifyReply): Readonly<Record<string, string>> {
  return reply.getHeaders() as Record<string, string>;
}
