import type { FastifyInstance, FastifyReply } from "fastify";
import type { GraphQLFormattedError } from "graphql";
import type { App } from "../../src/app.ts";
import { AppError, type ErrorCode, FAILURES } from "../../src/kernel/errors.ts";
import { failureHeaders, toAppError } from "../../src/rest/errors/error-body.ts";
import { toGraphFailure } from "../../subgraphs/shared/failures.ts";
import { weightOf } from "../http/media-types.ts";

const GRAPHQL_TYPE = "application/graphql-response+json";
const JSON_TYPE = "application/json";

/** Answers what fails before GraphQL is reached in GraphQL's shape, with the status that REST gives it. */
export function answerFailures(server: FastifyInstance, app: App): void {
  server.setErrorHandler((error, _request, reply) => {
    const failure = toAppError(error);
    if (failure.code === "internal_error") app.log.error({ err: error }, "a graph request failed");
    reply.headers(failureHeaders(failure));
    return sendErrors(reply, failure.status, [toGraphFailure(failure).toJSON()]);
  });
}

/**
 * Answers a request with errors and without data. The media type is negotiated as for every other answer of GraphQL
 * over HTTP: clients read errors of `application/graphql-response+json` at any status, and those of `application/json`
 * only at 200. Its headers are those of every failure, unless they were set before.
 */
export function sendErrors(
  reply: FastifyReply,
  status: number,
  errors: readonly GraphQLFormattedError[],
): FastifyReply {
  const type = mediaTypeFor(reply.request.headers.accept ?? "");
  if (!reply.hasHeader("x-should-retry")) reply.headers(refusalHeaders(errors[0]?.extensions?.code));
  return reply
    .code(status)
    .header("cache-control", "no-store")
    .header("content-type", `${type}; charset=utf-8`)
    .send(JSON.stringify({ errors }));
}

/** The headers of a failure that is known by its code alone; one of another library is a refusal. */
export function refusalHeaders(code: unknown): Readonly<Record<string, string>> {
  return failureHeaders(new AppError(isErrorCode(code) ? code : "graphql_refused", ""));
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(FAILURES, code);
}

/** GraphQL's own type where the client names it and does not prefer plain JSON. */
function mediaTypeFor(accept: string): string {
  const weight = weightOf(accept, GRAPHQL_TYPE);
  return weight > 0 && weight >= weightOf(accept, JSON_TYPE) ? GRAPHQL_TYPE : JSON_TYPE;
}
