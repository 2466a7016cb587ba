import { isUtf8 } from "node:buffer";
import { BYTE_ORDER_MARK, hasByteOrderMark } from "../../kernel/text/byte-order-mark.ts";
import { isNestedDeeper } from "./json-member.ts";

/** Strings are truncated to this length: enough for ids, reasons and codes. */
const MAX_TEXT = 1_024;
const MAX_ITEMS = 256;
/** Deeper than usage details or message blocks. */
const MAX_DEPTH = 6;
const MAX_VALUES = 10_000;
/** Python's parser follows about 1,000 levels, those of Go and Rust 10,000 and 128 by default. */
const MAX_ANSWER_DEPTH = 128;

type Container = unknown[] | Record<string, unknown>;

/**
 * The outline of a JSON value, small enough to pass from a thread to the event loop quickly: strings are truncated,
 * lists and objects keep their first 256 members, and are empty beyond six levels or 10,000 values. Traversal is
 * breadth-first, so the contents of a long list do not displace the list's siblings.
 */
export function outlineOf(value: unknown): unknown {
  const queue: { readonly from: object; readonly into: Container; readonly depth: number }[] = [];
  let values = 0;
  const shell = (part: unknown, depth: number): unknown => {
    values++;
    if (typeof part === "string") return part.slice(0, MAX_TEXT);
    if (typeof part !== "object" || part === null) return part;
    const into: Container = Array.isArray(part) ? [] : {};
    if (depth < MAX_DEPTH) queue.push({ from: part, into, depth });
    return into;
  };
  const outline = shell(value, 0);
  for (const { from, into, depth } of queue) {
    if (values >= MAX_VALUES) break;
    for (const name of Object.keys(from).slice(0, MAX_ITEMS)) {
      const child = shell((from as Record<string, unknown>)[name], depth + 1);
      if (Array.isArray(into)) into.push(child);
      else if (name !== "__proto__") into[name.slice(0, MAX_TEXT)] = child;
    }
  }
  return outline;
}

/**
 * Parses the JSON of a provider's answer. Throws an `Error` for what clients cannot read: invalid JSON or UTF-8 (RFC
 * 8259, 8.1), or one that is nested deeper than the parsers of many languages follow.
 */
export function parseAnswerJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Error("the answer is not UTF-8");
  if (isNestedDeeper(bytes, MAX_ANSWER_DEPTH)) throw new Error("the answer is nested too deeply");
  return parseJson(bytes);
}

/** Parses JSON, ignoring a leading byte order mark. Throws a `SyntaxError`. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString("utf8", hasByteOrderMark(bytes) ? BYTE_ORDER_MARK.length : 0));
}
