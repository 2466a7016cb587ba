import type { FastifyReply } from "fastify";
import type { GraphQLFormattedError } from "graphql";

const GRAPHQL_TYPE = "application/graphql-response+json";
const JSON_TYPE = "application/json";

/**
 * Answers a request with errors and without data. The media type is negotiated as for every other answer of GraphQL
 * over HTTP: clients read errors of `application/graphql-response+json` at any status, and those of `application/json`
 * only at 200.
 */
export function sendErrors(
  reply: FastifyReply,
  status: number,
  errors: readonly GraphQLFormattedError[],
): FastifyReply {
  const type = mediaTypeFor(reply.request.headers.accept ?? "");
  return reply
    .code(status)
    .header("cache-control", "no-store")
    .header("content-type", `${type}; charset=utf-8`)
    .send(JSON.stringify({ errors }));
}

/** GraphQL's own type where the client names it and does not prefer plain JSON. */
function mediaTypeFor(accept: string): string {
  const ranges = accept.toLowerCase().split(",").map(readRange);
  const weightOf = (type: string) => ranges.find((range) => range.type === type)?.weight ?? 0;
  const weight = weightOf(GRAPHQL_TYPE);
  return weight > 0 && weight >= weightOf(JSON_TYPE) ? GRAPHQL_TYPE : JSON_TYPE;
}

function readRange(text: string): { readonly type: string; readonly weight: number } {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) };
}
