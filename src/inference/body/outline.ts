import { BYTE_ORDER_MARK, hasByteOrderMark } from "../../kernel/text/byte-order-mark.ts";

/** Strings are truncated to this length: enough for ids, reasons and codes. */
const MAX_TEXT = 1_024;
const MAX_ITEMS = 256;
/** Deeper than usage details or message blocks. */
const MAX_DEPTH = 6;
const MAX_VALUES = 10_000;

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

/** Parses JSON, ignoring a leading byte order mark. Throws a `SyntaxError`. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString("utf8", hasByteOrderMark(bytes) ? BYTE_ORDER_MARK.length : 0));
}
