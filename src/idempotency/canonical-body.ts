import { createHash } from "node:crypto";
import { feedInTurns, TurnMeter } from "../kernel/async/turn-queue.ts";
import { type JsonLimits, MAX_SHAPES, measureJson } from "../kernel/text/json-shape.ts";

/** Longer bodies are compared byte by byte: clients that retry a request send the same bytes. */
const MAX_CANONICAL_BYTES = 4 * 1_048_576;
/** Numbers with more digits than a double has, or with an exponent that it may not have; also within texts. */
const INEXACT_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;
/** Sorting and serializing this many values takes at most about 20 ms. */
const LIMITS: JsonLimits = { maxDepth: 64, maxValues: 20_000, maxShapes: MAX_SHAPES };

/**
 * SHA-256 of a request's path parameters and body, hexadecimal. JSON is hashed by value, regardless of member order,
 * whitespace and number notation; anything else is hashed byte by byte, and so is JSON of more than 4 MiB or 20,000
 * values. A long body is hashed over several turns of the event loop. With `isExact`, so is JSON that may contain
 * numbers of more digits than JavaScript's have, which would count as equal.
 */
export async function hashRequest(
  params: Readonly<Record<string, string>>,
  body: Buffer,
  { isExact = false }: { readonly isExact?: boolean } = {},
): Promise<string> {
  const hash = createHash("sha256").update(`${canonical(params)}\n`);
  const text = canonicalJson(body, isExact);
  if (text !== undefined) return hash.update(text).digest("hex");
  hash.update("bytes\n");
  await feedInTurns(new TurnMeter(), body, (part) => hash.update(part));
  return hash.digest("hex");
}

function canonicalJson(body: Buffer, isExact: boolean): string | undefined {
  if (body.length > MAX_CANONICAL_BYTES || measureJson(body, LIMITS).excess !== undefined) return undefined;
  try {
    const text = body.toString("utf8");
    return isExact && INEXACT_NUMBER.test(text) ? undefined : canonical(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Recursion is safe: the value was parsed from a measured text, so its nesting is bounded. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(",")}}`;
}
