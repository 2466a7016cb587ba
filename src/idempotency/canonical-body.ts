import { createHash, type Hash } from "node:crypto";
import { nextTurn } from "../kernel/async/next-turn.ts";
import { feedInTurns, TurnMeter } from "../kernel/async/turn-queue.ts";
import { type JsonLimits, MAX_SHAPES, measureJson } from "../kernel/text/json-shape.ts";
import { ExactInteger, hasRoundedInteger, parseExactly } from "./exact-integers.ts";

/** Longer bodies are compared byte by byte: clients that retry a request send the same bytes. */
const MAX_CANONICAL_BYTES = 4 * 1_048_576;
/** Numbers with more digits than a double has, or with an exponent that it may not have; also within texts. */
const INEXACT_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;
/** Sorting this many values takes at most about 20 ms. */
const LIMITS: JsonLimits = { maxDepth: 64, maxValues: 20_000, maxShapes: MAX_SHAPES };

/**
 * SHA-256 of a request's path parameters, body and `options`, hexadecimal. JSON is hashed by value, regardless of member
 * order, whitespace and number notation: integers by all their digits, fractions as doubles. Anything else is hashed
 * byte by byte, and so is JSON of more than 4 MiB or 20,000 values, or with more than `parseExactly` reads. With
 * `isExact`, so is JSON that may contain numbers of more digits than JavaScript's have. A long body is hashed over
 * several turns of the event loop.
 */
export async function hashRequest(
  params: Readonly<Record<string, string>>,
  body: Buffer,
  { isExact = false, options }: { readonly isExact?: boolean; readonly options?: string | undefined } = {},
): Promise<string> {
  const hash = createHash("sha256");
  for (const piece of canonical(params)) hash.update(piece);
  hash.update("\n");
  if (options !== undefined) hash.update(`options ${options.length}\n${options}\n`);
  const meter = new TurnMeter();
  const json = await readJson(body, isExact);
  if (json === undefined) {
    hash.update("bytes\n");
    await feedInTurns(meter, body, (part) => hash.update(part));
    return hash.digest("hex");
  }
  await hashPieces(hash, meter, canonical(json.value));
  return hash.digest("hex");
}

/** Serializing and hashing so much takes less than a millisecond. */
const PIECE_CHARACTERS = 16_384;
/** Some characters take ten times as long to serialize as to hash. */
const SERIALIZING_COST = 4;
/** Measuring and parsing a longer body takes milliseconds: each step is another turn of the event loop. */
const MAX_TURN_BYTES = 131_072;

async function hashPieces(hash: Hash, meter: TurnMeter, pieces: Iterable<string>): Promise<void> {
  let waiting = "";
  for (const piece of pieces) {
    waiting += piece;
    if (waiting.length < PIECE_CHARACTERS) continue;
    hash.update(waiting);
    await meter.spend(SERIALIZING_COST * waiting.length);
    waiting = "";
  }
  hash.update(waiting);
}

/** The value of a body; undefined for one that is compared byte by byte. */
async function readJson(body: Buffer, isExact: boolean): Promise<{ readonly value: unknown } | undefined> {
  const pause = async () => {
    if (body.length <= MAX_TURN_BYTES) return;
    // The first of them may still come before the events that wait.
    await nextTurn();
    await nextTurn();
  };
  if (body.length > MAX_CANONICAL_BYTES || measureJson(body, LIMITS).excess !== undefined) return undefined;
  await pause();
  const text = body.toString("utf8");
  const isInexact = INEXACT_NUMBER.test(text);
  if (isExact && isInexact) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    if (!isInexact || !hasRoundedInteger(value)) return { value };
    await pause();
    return parseExactly(text, value);
  } catch {
    return undefined;
  } finally {
    await pause();
  }
}

/**
 * The canonical JSON of a value, in pieces. Recursion is safe: the value was parsed from a measured text, so its nesting
 * is bounded.
 */
function* canonical(value: unknown): Generator<string, void> {
  if (typeof value === "string") yield* canonicalText(value);
  else if (value instanceof ExactInteger) yield value.text;
  else if (typeof value !== "object" || value === null) yield JSON.stringify(value);
  else if (Array.isArray(value)) {
    yield "[";
    for (const [at, item] of value.entries()) {
      if (at > 0) yield ",";
      yield* canonical(item);
    }
    yield "]";
  } else {
    const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    yield "{";
    for (const [at, [name, item]] of members.entries()) {
      if (at > 0) yield ",";
      yield* canonicalText(name);
      yield ":";
      yield* canonical(item);
    }
    yield "}";
  }
}

/** A text as JSON, in pieces that split no surrogate pair. */
function* canonicalText(text: string): Generator<string, void> {
  if (text.length <= PIECE_CHARACTERS) return void (yield JSON.stringify(text));
  yield '"';
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE_CHARACTERS;
    const isSplit = /[\ud800-\udbff]/.test(text.charAt(end - 1));
    const piece = text.slice(at, isSplit ? end + 1 : end);
    yield JSON.stringify(piece).slice(1, -1);
    at += piece.length;
  }
  yield '"';
}
