import { createHash } from "node:crypto";
import { feedInTurns, TurnMeter } from "../kernel/async/turn-queue.ts";
import { type JsonLimits, measureJson } from "../kernel/text/json-shape.ts";

/** Longer bodies are compared byte by byte: clients that repeat a request send the same bytes. */
const MAX_CANONICAL_BYTES = 4 * 1_048_576;
/** Sorting and writing so many values takes at most about 20 ms. */
const LIMITS: JsonLimits = { maxDepth: 64, maxValues: 20_000 };

/**
 * SHA-256 of what a request asks for, hexadecimal: of its path parameters and its body. JSON counts by what it says,
 * whatever the order of members, the spaces and the spelling of numbers; anything else counts byte by byte, and so does
 * JSON of more than 4 MiB or 20,000 values. A long body is hashed in several turns of the event loop.
 */
export async function hashRequest(params: Readonly<Record<string, string>>, body: Buffer): Promise<string> {
  const hash = createHash("sha256").update(`${canonical(params)}\n`);
  const text = canonicalJson(body);
  if (text !== undefined) return hash.update(text).digest("hex");
  hash.update("bytes\n");
  await feedInTurns(new TurnMeter(), body, (part) => hash.update(part));
  return hash.digest("hex");
}

function canonicalJson(body: Buffer): string | undefined {
  if (body.length > MAX_CANONICAL_BYTES || measureJson(body, LIMITS).excess !== undefined) return undefined;
  try {
    return canonical(JSON.parse(body.toString("utf8")));
  } catch {
    return undefined;
  }
}

/** Of a value that was parsed from a measured text, so not nested too deeply to be walked. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(",")}}`;
}
