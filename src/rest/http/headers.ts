import type { IncomingMessage } from "node:http";
import { AppError } from "../../kernel/errors.ts";

/** The first header of this name (in lower case) in raw headers: name, value, name, value. */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name)
      return rawHeaders[at + 1];
  return undefined;
}

/** All headers of this name (in lower case) as one list with commas; undefined without any. */
export function listedHeaders(rawHeaders: readonly string[], name: string): string | undefined {
  const lists = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
  return lists.length === 0 ? undefined : lists.join(",");
}

/** How many headers have this name (in lower case). */
export function timesSent(rawHeaders: readonly string[], name: string): number {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) times++;
  return times;
}

/**
 * The `Authorization` header of a request. Node keeps the first of two and drops the second, while a proxy may have
 * checked the other one: two are refused instead. Throws `invalid_api_key`.
 */
export function authorizationHeaderOf({ headers, rawHeaders }: IncomingMessage): string | undefined {
  if (timesSent(rawHeaders, "authorization") > 1)
    throw new AppError("invalid_api_key", "Send one Authorization header.");
  return headers.authorization;
}

/** The media type of a `Content-Type`, without its parameters, in lower case. */
export function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/** The failure of a body whose type an endpoint does not accept. */
export function unsupportedType(taken: readonly string[]): AppError {
  return new AppError("unsupported_media_type", `Send the body as ${taken.join(" or ")}.`, {
    param: "Content-Type",
  });
}
