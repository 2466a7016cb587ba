import type { FastifyReply, FastifyRequest } from "fastify";
import { GRAPHQL_TYPE, weightOf } from "./media-types.ts";

/** Types of bodies that a page may send to another site without a preflight. */
const SIMPLE_TYPES: ReadonlySet<string> = new Set([
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "text/plain",
]);
/** Headers that a page cannot send to another site without a preflight. */
const PREFLIGHTED = ["authorization", "apollo-require-preflight", "x-apollo-operation-name"] as const;
/** What browsers state of requests that no page of another site caused. */
const OWN_SITES: ReadonlySet<unknown> = new Set([undefined, "same-origin", "none"]);

/**
 * Whether a page of another site may have caused a GET request without a CORS preflight. A header that needs a
 * preflight excludes it. So does an `Accept` that names the media type of GraphQL responses, as urql sends it, if the
 * browser states that the page is of this origin, or CORS allows the page's origin: links, forms and images cannot name
 * it, and a script of another page is recognised by `Sec-Fetch-Site`. Programs do not send that header.
 */
export function mayBeForged({ headers }: FastifyRequest, { raw }: FastifyReply): boolean {
  if (PREFLIGHTED.some((name) => headers[name])) return false;
  const type = headers["content-type"];
  if (type !== undefined && !SIMPLE_TYPES.has(type.split(";", 1)[0]?.trim().toLowerCase() ?? ""))
    return false;
  if (weightOf(headers.accept ?? "", GRAPHQL_TYPE) === 0) return true;
  return !OWN_SITES.has(headers["sec-fetch-site"]) && !raw.hasHeader("access-control-allow-origin");
}
