import { measureJson } from "../../inference/json-shape.ts";
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from "./rpc-error.ts";

const MAX_DEPTH = 64;
/** A call has a few hundred members at the most; a million would keep the process busy. */
const MAX_MEMBERS = 100_000;
const COMMA = 0x2c;
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
  if (hasMore(bytes, COMMA, MAX_MEMBERS))
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

function hasMore(bytes: Buffer, byte: number, limit: number): boolean {
  let at = -1;
  for (let seen = 0; seen <= limit; seen++) {
    at = bytes.indexOf(byte, at + 1);
    if (at === -1) return false;
  }
  return true;
}
