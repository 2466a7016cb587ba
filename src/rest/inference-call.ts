import { addTags, type Tags } from "../accounts/tags/tags.ts";
import type { Caller } from "../inference/billing/admitted.ts";
import type { ShownAnswer } from "../inference/chat/answer-edits.ts";
import { type Action, permitSpender } from "../keys/auth/permissions.ts";
import type { Answer } from "./http/answer.ts";
import { cacheHeaders } from "./http/cache-headers.ts";
import { headerOf, mediaTypeOf, unsupportedType } from "./http/headers.ts";
import type { RouteCall } from "./route.ts";
import { readTagHeaders } from "./tag-header.ts";

type Call = Pick<
  RouteCall<unknown, unknown>,
  "principal" | "requestId" | "rawHeaders" | "client" | "cache" | "signal"
>;

/**
 * The caller of inference, with the tags of the request: those of its headers, and then those in its `metadata`. Throws
 * `insufficient_scope` without an `sk-` key, and `invalid_parameter` for malformed tags.
 */
export function callerOf(
  { principal, requestId, client, rawHeaders, cache, signal }: Call,
  {
    action = "inference.run",
    metadata,
  }: { readonly action?: Action; readonly metadata?: Tags | undefined } = {},
): Caller {
  const tags = addTags(readTagHeaders(rawHeaders), metadata);
  return { ...permitSpender(principal, action), requestId, client, cache, signal, ...(tags && { tags }) };
}

/** The `Content-Type` of a body, which must be one of `taken`. Throws `unsupported_media_type`. */
export function contentTypeOf({ rawHeaders }: Call, taken: readonly string[]): string {
  const contentType = headerOf(rawHeaders, "content-type") ?? "";
  if (!taken.includes(mediaTypeOf(contentType))) throw unsupportedType(taken);
  return contentType;
}

/** The response of a provider, with the provider's response key, marked if it lacks the proof that was required. */
export function inferenceBytes(
  { body, responseKey, trace, cache }: ShownAnswer,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const key = responseKey === undefined ? {} : { "zg-res-key": responseKey };
  const mark = trace.error === undefined ? {} : { "x-0g-provider-evidence": "missing" };
  return {
    kind: "bytes",
    bytes: body,
    headers: { ...headers, ...key, ...mark, ...(cache && cacheHeaders(cache)) },
  };
}
