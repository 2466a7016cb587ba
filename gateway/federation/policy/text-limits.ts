import type { GraphQLError } from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { tooMuch } from "./refusals.ts";

/** The deepest nesting of selections, arguments, lists and objects. Recursive parsers overflow at thousands. */
const MAX_NESTING = 200;
const OPENING = new Set(["{", "(", "["]);
const CLOSING = new Set(["}", ")", "]"]);
/** The longest name, in bytes. For each unknown one graphql-js computes its distance from every name of the schema. */
const MAX_NAME_BYTES = 256;
const LONG_NAME = new RegExp(`\\w{${MAX_NAME_BYTES + 1}}`);
/** Block strings, strings and comments, in which brackets do not count. Unterminated ones extend to the end. */
const LITERAL = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|#[^\n\r]*/g;

/**
 * The error for a document that is too long, too deeply nested or has too long a name to be parsed. Undefined when it
 * may be parsed.
 */
export function refuseText(text: string, { documentBytes }: GraphLimits): GraphQLError | undefined {
  if (text.length > documentBytes || Buffer.byteLength(text) > documentBytes)
    return tooMuch("documentBytes", undefined, documentBytes);
  const syntax = text.replaceAll(LITERAL, " ");
  if (LONG_NAME.test(syntax)) return tooMuch("nameBytes", undefined, MAX_NAME_BYTES);
  let depth = 0;
  for (const sign of syntax) {
    if (OPENING.has(sign)) depth += 1;
    else if (CLOSING.has(sign)) depth -= 1;
    if (depth > MAX_NESTING) return tooMuch("nesting", undefined, MAX_NESTING);
  }
  return undefined;
}
