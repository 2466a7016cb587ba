import type { FastifyInstance, FastifyReply } from "fastify";
import type { GraphQLFormattedError } from "graphql";
import type { App } from "../../src/app.ts";
import { AppError, type ErrorCode, FAILURES } from "../../src/kernel/errors.ts";
import { failureHeaders, toAppError } from "../../src/rest/errors/error-body.ts";
import { toRequestFailure } from "../../subgraphs/shared/failures.ts";
import { graphTypeFor, JSON_TYPE } from "../http/media-types.ts";

/** Answers failures before GraphQL execution in GraphQL's shape, with the same status as REST. */
export function answerFailures(server: FastifyInstance, app: App): void {
  server.setErrorHandler((error, _request, reply) => {
    const failure = toAppError(error);
    if (failure.code === "internal_error") app.log.error({ err: error }, "a GraphQL request failed");
    reply.headers(failureHeaders(failure));
    return sendErrors(reply, failure.status, [toRequestFailure(failure).toJSON()]);
  });
}

/**
 * Sends a response with errors and without data. The media type is negotiated as for every other GraphQL response
 * over HTTP: clients read errors of `application/graphql-response+json` at any status, and those of
 * `application/json` only at 200. Its headers are those of every error response, unless they are already set.
 */
export function sendErrors(
  reply: FastifyReply,
  status: number,
  errors: readonly GraphQLFormattedError[],
): FastifyReply {
  const type = graphTypeFor(reply.request.headers.accept) ?? JSON_TYPE;
  if (!reply.hasHeader("x-should-retry")) reply.headers(refusalHeaders(errors[0]?.extensions?.code));
  return reply
    .code(status)
    .header("cache-control", "no-store")
    .header("content-type", `${type}; charset=utf-8`)
    .send(JSON.stringify({ errors }));
}

/** The headers of an error known only by its code; a code of another library counts as a refusal. */
export function refusalHeaders(code: unknown): Readonly<Record<string, string>> {
  return failureHeaders(new AppError(isErrorCode(code) ? code : "graphql_refused", ""));
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(FAILURES, code);
}
