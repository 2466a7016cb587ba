/**
 * Assembles a WebAssembly module that hashes many blocks of equal length with Keccak-256, two at a time in the two
 * 64-bit lanes of SIMD registers. The instructions are written here one by one, so that there is no binary to trust
 * and no compiler to keep; the engine compiles them to machine code.
 *
 * Exports `memory`, and `chunks` and `pairs`, which hash `count` blocks of 256 and of 64 bytes at `input` and write
 * 32 bytes each to `output`. An odd count is rounded up: one block more is read, and one hash more is written. `output`
 * may be `input`. Sources: FIPS 202 section 3.2 (the permutation), with Keccak's original padding 0x01 … 0x80; the
 * WebAssembly specification 2.0, sections 5.4 and 5.5 (the binary format).
 */
export function assembleKeccak(pages: number): Uint8Array<ArrayBuffer> {
  const signature = [0x60, ...vector([[I32], [I32], [I32]]), 0];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector([signature])),
    ...section(3, vector([[0], [0]])),
    ...section(5, vector([[0, ...unsigned(pages)]])),
    ...section(7, vector([exported("memory", 2, 0), exported("chunks", 0, 0), exported("pairs", 0, 1)])),
    ...section(10, vector([hashBlocks(256), hashBlocks(64)])),
    ...section(11, vector([[0, 0x41, 0, END, ...vector(ROUND_CONSTANTS.flatMap(littleEndian).map(one))]])),
  ]);
}

/** The memory below this address holds the round constants. */
export const FIRST_FREE_ADDRESS = 256;

type Code = readonly number[];

const ROUNDS = 24;
const RATE_LANES = 17;
const I32 = 0x7f;
const V128 = 0x7b;
const END = 0x0b;

/** How far lane x + 5y is rotated. */
const ROTATIONS = [
  0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14,
];

/** The constants of the rounds, made by the linear feedback shift register of FIPS 202, algorithm 5. */
const ROUND_CONSTANTS = roundConstants();

/** Parameters and locals of `hashBlocks`: the state has two sets of locals, since a round writes while it reads. */
const [INPUT, COUNT, OUTPUT, ROUND] = [0, 1, 2, 3];
const STATE = range(25).map((lane) => 4 + lane);
const NEXT = range(25).map((lane) => 29 + lane);
const PARITY = range(5).map((column) => 54 + column);
const SPREAD = range(5).map((column) => 59 + column);
const ROW = range(5).map((column) => 64 + column);
const LOCALS = vector([
  [1, I32],
  [65, V128],
]);

function hashBlocks(length: 256 | 64): Code {
  const lanes = length / 8;
  const blocks = Math.floor(lanes / RATE_LANES) + 1;
  const body = [
    ...[0x03, 0x40],
    ...range(blocks).flatMap((block) => [...absorb(block, lanes), ...permute()]),
    ...range(4).flatMap((lane) => storeLane(lane)),
    ...advance(INPUT, 2 * length),
    ...advance(OUTPUT, 64),
    ...advance(COUNT, -2),
    ...[...get(COUNT), 0x41, 0, 0x4a, 0x0d, 0],
    END,
  ];
  const code = [...LOCALS, ...body, END];
  return [...unsigned(code.length), ...code];
}

/** Mixes one block of 136 bytes into the state, of the two messages that begin `8 * lanes` bytes apart. */
function absorb(block: number, lanes: number): Code {
  return range(25).flatMap((lane) => {
    const at = block * RATE_LANES + lane;
    const parts = [
      ...(block > 0 ? [get(STATE[lane])] : []),
      ...(lane < RATE_LANES && at < lanes ? [loadBoth(8 * at, 8 * (lanes + at))] : []),
      ...(lane < RATE_LANES && at === lanes ? [constant(1n)] : []),
      ...(lane === RATE_LANES - 1 && at >= lanes ? [constant(1n << 63n)] : []),
    ];
    return set(STATE[lane], parts.length > 0 ? xor(...parts) : constant(0n));
  });
}

/** 24 rounds, two in each turn of a loop: from one set of locals to the other and back. */
function permute(): Code {
  return [
    ...set(ROUND, [0x41, 0]),
    ...[0x03, 0x40],
    ...round(STATE, NEXT, 0),
    ...round(NEXT, STATE, 8),
    ...advance(ROUND, 16),
    ...[...get(ROUND), 0x41, ...signed(8 * ROUNDS), 0x48, 0x0d, 0],
    END,
  ];
}

/** Theta, rho, pi, chi and iota in one sweep over the rows of the result. */
function round(from: readonly number[], to: readonly number[], constantAt: number): Code {
  const code: number[] = [];
  for (const x of range(5)) code.push(...set(PARITY[x], xor(...range(5).map((y) => get(from[x + 5 * y])))));
  for (const x of range(5))
    code.push(...set(SPREAD[x], xor(get(PARITY[(x + 4) % 5]), rotate(PARITY[(x + 1) % 5], 1))));
  for (const y of range(5)) {
    for (const x of range(5)) {
      const source = ((x + 3 * y) % 5) + 5 * x;
      code.push(...set(ROW[x], xor(get(from[source]), get(SPREAD[source % 5]))));
      if (ROTATIONS[source] !== 0) code.push(...set(ROW[x], rotate(ROW[x], ROTATIONS[source] ?? 0)));
    }
    for (const x of range(5)) {
      const mixed = xor(get(ROW[x]), [...get(ROW[(x + 2) % 5]), ...get(ROW[(x + 1) % 5]), ...ANDNOT]);
      const isFirst = x === 0 && y === 0;
      code.push(...set(to[x + 5 * y], isFirst ? xor(mixed, roundConstant(constantAt)) : mixed));
    }
  }
  return code;
}

const simd = (opcode: number, ...rest: readonly number[]): Code => [0xfd, ...unsigned(opcode), ...rest];
const XOR = simd(81);
const OR = simd(80);
/** `a andnot b` is a AND NOT b. */
const ANDNOT = simd(79);
const SHIFT_LEFT = simd(203);
const SHIFT_RIGHT = simd(205);

/** Rotations by whole bytes are one shuffle; all others are two shifts. */
function rotate(local: number | undefined, by: number): Code {
  if (by % 8 === 0) {
    const order = range(16).map((byte) => (byte & 8) | ((byte - by / 8) & 7));
    return [...get(local), ...get(local), ...simd(13, ...order)];
  }
  const left = [...get(local), 0x41, ...signed(by), ...SHIFT_LEFT];
  const right = [...get(local), 0x41, ...signed(64 - by), ...SHIFT_RIGHT];
  return [...left, ...right, ...OR];
}

function xor(...[first = [], ...others]: readonly Code[]): Code {
  return [...first, ...others.flatMap((other) => [...other, ...XOR])];
}

/** Eight bytes of the first message, and eight of the second. */
function loadBoth(first: number, second: number): Code {
  const low = [...get(INPUT), ...simd(93, 0, ...unsigned(first))];
  return [...get(INPUT), ...low, ...simd(87, 0, ...unsigned(second), 1)];
}

function storeLane(lane: number): Code {
  return [0, 1].flatMap((message) => [
    ...get(OUTPUT),
    ...get(STATE[lane]),
    ...simd(91, 0, ...unsigned(32 * message + 8 * lane), message),
  ]);
}

function roundConstant(at: number): Code {
  return [...get(ROUND), ...simd(10, 0, ...unsigned(at))];
}

function constant(lane: bigint): Code {
  return simd(12, ...littleEndian(lane), ...littleEndian(lane));
}

function get(local: number | undefined): Code {
  return [0x20, ...unsigned(local ?? 0)];
}

function set(local: number | undefined, value: Code): Code {
  return [...value, 0x21, ...unsigned(local ?? 0)];
}

function advance(local: number | undefined, by: number): Code {
  return set(local, [...get(local), 0x41, ...signed(by), 0x6a]);
}

function exported(name: string, kind: number, index: number): Code {
  return [...vector([...Buffer.from(name)].map(one)), kind, index];
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content];
}

function vector(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()];
}

/** LEB128. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  const [low, rest] = [value & 0x7f, value >> 7];
  const isLast = (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}

function littleEndian(lane: bigint): Code {
  return range(8).map((byte) => Number((lane >> BigInt(8 * byte)) & 0xffn));
}

function roundConstants(): readonly bigint[] {
  let register = 1;
  return range(ROUNDS).map(() =>
    range(7).reduce((lane, bit) => {
      const set = register & 1;
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
      return set ? lane | (1n << ((1n << BigInt(bit)) - 1n)) : lane;
    }, 0n),
  );
}

function one(byte: number): Code {
  return [byte];
}

function range(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}
