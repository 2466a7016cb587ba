import { type GraphQLError, Source } from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { type Place, tooMuch } from "./refusals.ts";

/** The deepest nesting of selections, arguments, lists and objects. Recursive parsers overflow at thousands. */
const MAX_NESTING = 200;
const OPENING = new Set(["{", "(", "["]);
const CLOSING = new Set(["}", ")", "]"]);
/** The longest name, in bytes. graphql-js compares each unknown one with the names of the schema, to suggest one. */
const MAX_NAME_BYTES = 256;
/** Tried only where a name begins: at each character, a document of long names would take 20 ms. */
const LONG_NAME = new RegExp(`\\b[_A-Za-z]\\w{${MAX_NAME_BYTES}}`);
/** Block strings, strings and comments, in which brackets do not count. Unterminated ones extend to the end. */
const LITERAL = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|#[^\n\r]*/g;

/**
 * The error for a document that must not be parsed, since it is too long, nested too deeply or has too long a name; the
 * last two with their location. Undefined for others.
 */
export function refuseText(text: string, { documentBytes }: GraphLimits): GraphQLError | undefined {
  if (text.length > documentBytes || Buffer.byteLength(text) > documentBytes)
    return tooMuch("documentBytes", undefined, documentBytes);
  const syntax = text.replaceAll(LITERAL, " ");
  if (LONG_NAME.test(syntax))
    return tooMuch(
      "nameBytes",
      undefined,
      MAX_NAME_BYTES,
      locate(text, (placed) => placed.search(LONG_NAME)),
    );
  if (tooDeepAt(syntax) !== -1) return tooMuch("nesting", undefined, MAX_NESTING, locate(text, tooDeepAt));
  return undefined;
}

/** Where the brackets of a text are nested one level too deep; -1 if they are not. */
function tooDeepAt(syntax: string): number {
  let depth = 0;
  for (let at = 0; at < syntax.length; at++) {
    const sign = syntax.charAt(at);
    if (OPENING.has(sign)) depth += 1;
    else if (CLOSING.has(sign)) depth -= 1;
    if (depth > MAX_NESTING) return at;
  }
  return -1;
}

/** Where `find` finds something in a text outside its literals, which are replaced by as much white space. */
function locate(text: string, find: (placed: string) => number): Place {
  const placed = text.replaceAll(LITERAL, (literal) => literal.replaceAll(/[^\n\r]/g, " "));
  return { source: new Source(text), positions: [find(placed)] };
}
