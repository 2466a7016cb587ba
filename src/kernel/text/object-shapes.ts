import { randomInt } from "node:crypto";
import { endOfString, newStringScan } from "./json-strings.ts";

const QUOTE = 0x22;
const COLON = 0x3a;
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/** The hash of an object without members. Random, so that clients cannot choose names whose hashes collide. */
const SEED = randomInt(2 ** 32);
const MULTIPLIER = 0x9e3779b1;
const ROTATION = 13;
const WORD_BITS = 32;
/** A longer name counts as a new one each time, so that reading long names again costs nothing. */
const MAX_HASHED_NAME = 64;

/**
 * Whether the objects of a measured JSON text have more than `max` different shapes: the sequences of member names that
 * they begin with. V8 makes a hidden class for each, and a member of a new shape takes ten times as long to parse, copy
 * and write as one of a known shape. Shapes are compared by a hash of 32 bits.
 */
export function hasMoreShapes(json: Buffer, max: number): boolean {
  const bytes = new Uint8Array(json.buffer, json.byteOffset, json.length);
  const strings = newStringScan(false);
  const shapes = new Set<number>();
  // By depth: the shape of the object that is open there.
  const open: number[] = [];
  let [depth, start, end] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      start = at + 1;
      at = endOfString(bytes, at, json, strings);
      end = at;
    } else if (byte === COLON) {
      const shape = shapeWith(open[depth] ?? SEED, bytes, start, end);
      open[depth] = shape;
      shapes.add(shape);
      if (shapes.size > max) return true;
    } else if (OPENING.has(byte)) open[++depth] = SEED;
    else if (CLOSING.has(byte)) depth--;
  }
  return false;
}

/** The shape of an object with one more member, whose name is the bytes from `start` to `end`. */
function shapeWith(shape: number, bytes: Uint8Array, start: number, end: number): number {
  if (end - start > MAX_HASHED_NAME) return mix(shape ^ start);
  let hash = shape;
  for (let at = start; at < end; at++) hash = mix(hash ^ (bytes[at] ?? 0));
  return mix(hash ^ (end - start));
}

function mix(word: number): number {
  const product = Math.imul(word, MULTIPLIER);
  return (product << ROTATION) | (product >>> (WORD_BITS - ROTATION));
}
