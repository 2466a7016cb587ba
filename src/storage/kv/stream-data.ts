import type { Hex } from "../../kernel/text/hex.ts";

/** A key of a stream. Keys are bytes, in byte order. */
export type StreamKey = { readonly streamId: Hex; readonly key: Buffer };

/** One write of a transaction; an empty value deletes the key. */
export type StreamWrite = StreamKey & { readonly value: Buffer };

/** The access control operations with the network's codes. The upper half of a code is the family. */
export const CONTROL_OPS = {
  GRANT_ADMIN_ROLE: 0x00,
  RENOUNCE_ADMIN_ROLE: 0x01,
  SET_KEY_TO_SPECIAL: 0x10,
  SET_KEY_TO_NORMAL: 0x11,
  GRANT_WRITER_ROLE: 0x20,
  REVOKE_WRITER_ROLE: 0x21,
  RENOUNCE_WRITER_ROLE: 0x22,
  GRANT_SPECIAL_WRITER_ROLE: 0x30,
  REVOKE_SPECIAL_WRITER_ROLE: 0x31,
  RENOUNCE_SPECIAL_WRITER_ROLE: 0x32,
} as const;

export type ControlOp = keyof typeof CONTROL_OPS;

/** One change of access control. `key` and `account` are set for the operations that need them. */
export type StreamControl = {
  readonly op: ControlOp;
  readonly streamId: Hex;
  readonly key?: Buffer;
  readonly account?: Hex;
};

/** A transaction on streams, as its writer composes it. */
export type StreamData = {
  /** The newest version that the writer has seen: a key written after it is a conflict. */
  readonly version: bigint;
  readonly reads: readonly StreamKey[];
  readonly writes: readonly StreamWrite[];
  readonly controls: readonly StreamControl[];
};

/** Maximum length of each list of a transaction. */
export const MAX_LIST = 65_536;
/** Maximum length of a key. */
const MAX_KEY_BYTES = 2 ** 24 - 1;
/**
 * Maximum length of a key in a request, bytes. The network's own limit is 16 MiB: longer keys are replayed and listed,
 * but a request that contains one would be as large.
 */
export const MAX_NAMED_KEY_BYTES = 65_536;
export const MAX_U64 = 2n ** 64n - 1n;

/** Which operations have a key, and which an account. */
export const CONTROL_SHAPES: Readonly<
  Record<ControlOp, { readonly key: boolean; readonly account: boolean }>
> = {
  GRANT_ADMIN_ROLE: { key: false, account: true },
  RENOUNCE_ADMIN_ROLE: { key: false, account: false },
  SET_KEY_TO_SPECIAL: { key: true, account: false },
  SET_KEY_TO_NORMAL: { key: true, account: false },
  GRANT_WRITER_ROLE: { key: false, account: true },
  REVOKE_WRITER_ROLE: { key: false, account: true },
  RENOUNCE_WRITER_ROLE: { key: false, account: false },
  GRANT_SPECIAL_WRITER_ROLE: { key: true, account: true },
  REVOKE_SPECIAL_WRITER_ROLE: { key: true, account: true },
  RENOUNCE_SPECIAL_WRITER_ROLE: { key: true, account: false },
};

/**
 * The file of a transaction (facts: storage section 5.2), all numbers big-endian: version, reads, writes without their
 * values, the values in the same order, controls. Throws an `EncodingError` for what the format cannot encode.
 */
export function encodeStreamData({ version, reads, writes, controls }: StreamData): Buffer {
  return Buffer.concat([
    unsigned(version, 8, "version"),
    count(reads, "reads"),
    ...reads.flatMap(({ streamId, key }, n) => [bytesOf(streamId), keyBytes(key, `reads.${n}`)]),
    count(writes, "writes"),
    ...writes.flatMap(({ streamId, key, value }, n) => [
      bytesOf(streamId),
      keyBytes(key, `writes.${n}`),
      unsigned(BigInt(value.length), 8, `writes.${n}`),
    ]),
    ...writes.map(({ value }) => value),
    count(controls, "controls"),
    ...controls.flatMap((control, n) => controlBytes(control, `controls.${n}`)),
  ]);
}

/** A transaction that the format cannot encode. `part` is the faulty one, like `controls.2`. */
export class EncodingError extends RangeError {
  readonly part: string;

  constructor(part: string, message: string) {
    super(message);
    this.part = part;
  }
}

/**
 * The streams that the tags of a transaction must name, each once in order of appearance: those that it writes to or
 * controls. Naming a stream that is only read would make the sender admin of it when the stream is new.
 */
export function streamsOf({ writes, controls }: Pick<StreamData, "writes" | "controls">): readonly Hex[] {
  return [...new Set([...writes, ...controls].map(({ streamId }) => streamId))];
}

function controlBytes({ op, streamId, key, account }: StreamControl, part: string): Buffer[] {
  const shape = CONTROL_SHAPES[op];
  if (shape.key !== (key !== undefined) || shape.account !== (account !== undefined))
    throw new EncodingError(part, `${op} has a missing or unexpected key or account`);
  return [
    Buffer.of(CONTROL_OPS[op]),
    bytesOf(streamId),
    ...(key ? [keyBytes(key, part)] : []),
    ...(account ? [bytesOf(account)] : []),
  ];
}

function keyBytes(key: Buffer, part: string): Buffer {
  if (key.length === 0 || key.length > MAX_KEY_BYTES)
    throw new EncodingError(part, "a key has 1 to 2^24 - 1 bytes");
  return Buffer.concat([unsigned(BigInt(key.length), 3, part), key]);
}

function count(list: readonly unknown[], part: string): Buffer {
  if (list.length > MAX_LIST) throw new EncodingError(part, `a list has at most ${MAX_LIST} entries`);
  return unsigned(BigInt(list.length), 4, part);
}

function unsigned(value: bigint, bytes: number, part: string): Buffer {
  if (value < 0n || value >= 1n << BigInt(8 * bytes))
    throw new EncodingError(part, "a number is out of range");
  return Buffer.from(value.toString(16).padStart(2 * bytes, "0"), "hex");
}

function bytesOf(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}
