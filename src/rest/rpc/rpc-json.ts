import { randomUUID } from "node:crypto";
import { type JsonLimits, MAX_SHAPES, measureJson } from "../../kernel/text/json-shape.ts";
import type { JsonParts } from "../json-parts/json-parts.ts";
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from "./rpc-error.ts";

/** Segments with their proofs that fill a whole body have 14,000 values; 20,000 are parsed in about 20 ms. */
const LIMITS: JsonLimits = { maxDepth: 64, maxValues: 20_000, maxShapes: MAX_SHAPES };
/** A number with more digits than a double represents exactly, at a place where JSON allows a number. */
const LONG_NUMBER = /[:,[\s]-?\d{16}/;
const WHOLE = /^-?\d{1,40}$/;

/** TypeScript does not declare `JSON.rawJSON` (ES2026) yet. */
type WithRaw = { rawJSON(text: string): unknown };
const { rawJSON } = JSON as unknown as WithRaw;

/**
 * Parses JSON whose integers may exceed a double's precision, such as 64-bit ids and versions: those become a `bigint`.
 * Long texts are `LongText`s. Throws an `RpcError` for invalid JSON, and for too many levels or values.
 */
export function readJson(parts: JsonParts): unknown {
  if (parts.fault?.kind === "malformed") throw new RpcError(PARSE_ERROR, "Parse error");
  const excess = parts.fault?.why ?? measureJson(parts.json, LIMITS).excess;
  if (excess !== undefined) throw new RpcError(INVALID_REQUEST, `The request ${excess}`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(parts.json);
  } catch {
    throw new RpcError(PARSE_ERROR, "Parse error");
  }
  try {
    return parts.withTexts(LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text));
  } catch {
    throw new RpcError(PARSE_ERROR, "Parse error");
  }
}

/** Bytes that JSON carries as base64. */
export class Base64Bytes {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** The placeholder for base64 while JSON is written; random, so that no client can forge it in an id. */
const PLACE = randomUUID();
const QUOTE = Buffer.from('"');

/**
 * Serializes JSON; a `bigint` is a number with all its digits. Base64 is inserted afterwards: scanning a segment for
 * characters to escape took longer than the rest of its answer.
 */
export function writeJson(value: unknown): Buffer {
  const carried: Buffer[] = [];
  const text = JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === "bigint") return rawJSON(part.toString());
    if (!(part instanceof Base64Bytes)) return part;
    carried.push(part.bytes);
    return PLACE;
  });
  if (carried.length === 0) return Buffer.from(text);
  const between = text.split(`"${PLACE}"`).map((piece) => Buffer.from(piece));
  const pieces = between.flatMap((piece, at) => {
    const bytes = carried[at];
    return bytes ? [piece, QUOTE, Buffer.from(bytes.toString("base64"), "latin1"), QUOTE] : [piece];
  });
  return Buffer.concat(pieces);
}

function keepDigits(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return WHOLE.test(source) ? BigInt(source) : value;
}
