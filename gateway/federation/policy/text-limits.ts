import type { GraphQLError } from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { tooMuch } from "./refusals.ts";

/** The deepest nesting of selections, arguments, lists and objects. Recursive parsers overflow at thousands. */
const MAX_NESTING = 200;
const OPENING = new Set(["{", "(", "["]);
const CLOSING = new Set(["}", ")", "]"]);
/** Block strings, strings and comments, in which brackets do not count. Unterminated ones extend to the end. */
const LITERAL = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|#[^\n\r]*/g;

/** The error for a document that is too long or too deeply nested to be parsed. Undefined when it may be parsed. */
export function refuseText(text: string, { documentBytes }: GraphLimits): GraphQLError | undefined {
  if (text.length > documentBytes || Buffer.byteLength(text) > documentBytes)
    return tooMuch("documentBytes", undefined, documentBytes);
  let depth = 0;
  for (const sign of text.replaceAll(LITERAL, "")) {
    if (OPENING.has(sign)) depth += 1;
    else if (CLOSING.has(sign)) depth -= 1;
    if (depth > MAX_NESTING) return tooMuch("nesting", undefined, MAX_NESTING);
  }
  return undefined;
}
