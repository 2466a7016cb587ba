import { readTags, type Tag, type Tags } from "../accounts/tags/tags.ts";
import { AppError } from "../kernel/errors.ts";

/** The header that tags a billed request. */
export const TAG_HEADER = "X-Tag";
const NAME = TAG_HEADER.toLowerCase();
/** Ten tags of full length, each byte percent-encoded, exceed the limit of all headers; so this much is never needed. */
const MAX_LENGTH = 16_384;
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * Reads the tags of a request from its `X-Tag` headers: `name=value` pairs, separated by commas, names and values
 * percent-encoded where they have other characters, as in W3C Baggage. Several headers are one list. Undefined without
 * the header. Throws `invalid_parameter` for a malformed list, a name twice, or more than ten.
 */
export function readTagHeaders(rawHeaders: readonly string[]): Tags | undefined {
  let sent: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    sent ??= [];
    sent.push(rawHeaders[at + 1] ?? "");
  }
  return sent && readTags(pairsOf(sent.join(",")), TAG_HEADER);
}

/** Reads one tag, `name=value`, of a query parameter, in the syntax of the header. Throws `invalid_parameter`. */
export function readTagParameter(text: string, param: string): Tag {
  const tag = pairOf(text, param);
  readTags([tag], param);
  return tag;
}

function pairsOf(list: string): readonly Tag[] {
  if (list.length > MAX_LENGTH) throw malformed(TAG_HEADER, "is too long");
  return list
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair) => pairOf(pair, TAG_HEADER));
}

function pairOf(pair: string, param: string): Tag {
  const end = pair.indexOf("=");
  if (end < 0) throw malformed(param, "must have the form name=value");
  return { name: decode(pair.slice(0, end), param), value: decode(pair.slice(end + 1), param) };
}

function decode(text: string, param: string): string {
  const trimmed = text.trim();
  if (param === TAG_HEADER && !PRINTABLE.test(trimmed))
    throw malformed(param, "has a character that must be percent-encoded");
  try {
    return decodeURIComponent(trimmed);
  } catch {
    throw malformed(param, "is not percent-encoded UTF-8");
  }
}

function malformed(param: string, what: string): AppError {
  return new AppError("invalid_parameter", `${param}: ${what}`, { param });
}
