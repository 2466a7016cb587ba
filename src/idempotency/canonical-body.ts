import { createHash } from "node:crypto";

const MAX_DEPTH = 64;

/**
 * SHA-256 of what a request asks for, hexadecimal: of its path parameters and its body. JSON counts by what it says,
 * whatever the order of members, the spaces and the spelling of numbers; anything else counts byte by byte.
 */
export function hashRequest(params: Readonly<Record<string, string>>, body: Buffer): string {
  const hash = createHash("sha256").update(`${canonical(params, 0)}\n`);
  const text = canonicalJson(body);
  return (text === undefined ? hash.update("bytes\n").update(body) : hash.update(text)).digest("hex");
}

function canonicalJson(body: Buffer): string | undefined {
  try {
    return canonical(JSON.parse(body.toString("utf8")), 0);
  } catch {
    return undefined;
  }
}

/** Throws for what is nested too deeply to be walked safely. */
function canonical(value: unknown, depth: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, depth + 1)}`).join(",")}}`;
}
