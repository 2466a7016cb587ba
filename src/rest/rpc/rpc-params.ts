import { readBase64 as decodeBase64 } from "../../kernel/text/base64.ts";
import { type Hex, isAddress, isHash32, lowerHex } from "../../kernel/text/hex.ts";
import { MAX_U64 } from "../../storage/kv/stream-data.ts";
import { LongText } from "../json-parts/json-parts.ts";
import { invalidParams, type RpcError } from "./rpc-error.ts";

/** No method has more than six; some clients send a few extra. */
const MAX_PARAMS = 16;

/**
 * The positional parameters of one call. Numbers may be decimal strings, since the TypeScript SDKs send some that way.
 * Every method throws an `RpcError` that names the invalid parameter, before any work is done with one that is too
 * long.
 */
export class RpcParams {
  readonly #values: readonly unknown[];

  /** Throws an `RpcError` for more than 16 parameters. */
  constructor(values: readonly unknown[]) {
    if (values.length > MAX_PARAMS) throw invalidParams("params", `more than ${MAX_PARAMS} parameters`);
    this.#values = values;
  }

  /** A parameter as it was sent. */
  raw(at: number): unknown {
    return this.#values[at];
  }

  /** An unsigned 64-bit integer. */
  u64(at: number, name: string): bigint {
    return readU64(this.#values[at], name);
  }

  /** The same; undefined if it is omitted or null. */
  optionalU64(at: number, name: string): bigint | undefined {
    const value = this.#values[at];
    return value === undefined || value === null ? undefined : readU64(value, name);
  }

  /** An integer that is a position in a file. */
  index(at: number, name: string): number {
    const value = readU64(this.#values[at], name);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidParams(name, "number too large");
    return Number(value);
  }

  /** A root or the id of a stream. */
  hash(at: number, name: string): Hex {
    return readHash(this.#values[at], name);
  }

  address(at: number, name: string): Hex {
    const value = this.#values[at];
    if (typeof value !== "string" || !isAddress(value)) throw invalidParams(name, "expected an address");
    return lowerHex(value);
  }

  bool(at: number, name: string): boolean {
    const value = this.#values[at];
    if (typeof value !== "boolean") throw invalidParams(name, "expected a boolean");
    return value;
  }

  /** At most `maxBytes` bytes. */
  base64(at: number, name: string, maxBytes: number): Buffer {
    return readBase64(this.#values[at], name, maxBytes);
  }

  /** A list of strings of at most `max.length` characters, so never a long text. Empty if omitted or null. */
  texts(
    at: number,
    name: string,
    max: { readonly items: number; readonly length: number },
  ): readonly string[] {
    const value = this.#values[at] ?? [];
    if (!Array.isArray(value)) throw invalidParams(name, "expected a list");
    if (value.length > max.items) throw invalidParams(name, `more than ${max.items} entries`);
    return value.map((text) => {
      const isLong = text instanceof LongText;
      if (isLong || (typeof text === "string" && text.length > max.length))
        throw invalidParams(name, `longer than ${max.length} characters`);
      if (typeof text !== "string") throw invalidParams(name, "expected a list of strings");
      return text;
    });
  }
}

/** A whole number from 0 to 2^64 - 1. */
export function readU64(value: unknown, name: string): bigint {
  const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
  if (typeof text === "string" && /^\d{1,20}$/.test(text) && BigInt(text) <= MAX_U64) return BigInt(text);
  throw invalidParams(name, "expected a whole number from 0 to 2^64 - 1");
}

export function readHash(value: unknown, name: string): Hex {
  if (typeof value !== "string" || !isHash32(value))
    throw invalidParams(name, "expected 0x and 64 hexadecimal digits");
  return lowerHex(value);
}

/** Padded standard base64 of at most `maxBytes` bytes. Characters that Node would skip are rejected. */
export function readBase64(value: unknown, name: string, maxBytes: number): Buffer {
  if (typeof value !== "string" && !(value instanceof LongText)) throw invalidParams(name, "expected base64");
  if (value.length > Math.ceil(maxBytes / 3) * 4) throw tooLong(name, maxBytes);
  const bytes = typeof value === "string" ? decodeBase64(value) : value.bytes;
  if (!bytes) throw invalidParams(name, "illegal base64 data");
  if (bytes.length > maxBytes) throw tooLong(name, maxBytes);
  return bytes;
}

function tooLong(name: string, maxBytes: number): RpcError {
  return invalidParams(name, `longer than ${maxBytes} bytes`);
}
