import { measureJson } from "../../inference/json-shape.ts";
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from "./rpc-error.ts";

const MAX_DEPTH = 64;
/**
 * Commas, lists and objects of one request. A hundred segments with long proofs have 15,000. Reading a number with all
 * its digits calls a function for each member, which takes 50 ms for this many.
 */
const MAX_MEMBERS = 20_000;
const SEPARATORS = [0x2c, 0x5b, 0x7b] as const;
/** A number that has more digits than a double keeps for sure, where a number may stand. */
const LONG_NUMBER = /[:,[\s]-?\d{16}/;
const WHOLE = /^-?\d{1,40}$/;

type WithRaw = { rawJSON(text: string): unknown };
const { rawJSON } = JSON as unknown as WithRaw;

/**
 * Reads JSON whose whole numbers may exceed what a double holds: those become a `bigint`. Ids and versions of 64 bits
 * are of that kind. Throws an `RpcError` for what is no JSON, or is nested or divided beyond all use.
 */
export function readJson(bytes: Buffer): unknown {
  if (countUpTo(bytes, MAX_MEMBERS) > MAX_MEMBERS)
    throw new RpcError(INVALID_REQUEST, "The request has too many members");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RpcError(PARSE_ERROR, "Parse error");
  }
  if (measureJson(bytes).depth > MAX_DEPTH)
    throw new RpcError(INVALID_REQUEST, "The request is nested too deeply");
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    throw new RpcError(PARSE_ERROR, "Parse error");
  }
}

/** Writes JSON; a `bigint` is a number with all its digits. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === "bigint" ? rawJSON(part.toString()) : part,
  );
}

function keepDigits(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return WHOLE.test(source) ? BigInt(source) : value;
}

/** How many separators there are, those within strings among them; counting ends beyond `limit`. */
function countUpTo(bytes: Buffer, limit: number): number {
  let count = 0;
  for (const separator of SEPARATORS)
    for (
      let at = bytes.indexOf(separator);
      at !== -1 && count <= limit;
      at = bytes.indexOf(separator, at + 1)
    )
      count++;
  return count;
}
