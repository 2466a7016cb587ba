import type { GraphQLError } from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { tooMuch } from "./refusals.ts";

/** Selections, arguments, lists and objects within each other. A parser that recurses runs out of stack at some thousand. */
const MAX_NESTING = 200;
const OPENING = new Set(["{", "(", "["]);
const CLOSING = new Set(["}", ")", "]"]);
/** Block strings, strings and comments: what brackets do not count in. One that does not end lasts to the end of the text. */
const LITERAL = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|#[^\n\r]*/g;

/** Why a document is not even parsed: it is too long, or nested too deeply. Undefined when it may be parsed. */
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
