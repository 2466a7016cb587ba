import { BYTE_ORDER_MARK } from "../../kernel/text/byte-order-mark.ts";
import { type JsonLimits, MAX_SHAPES, measureJson } from "../../kernel/text/json-shape.ts";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const LETTER_D = 0x64;
const NOTHING = Buffer.alloc(0);
const BLANK_LINE = Buffer.from("\n\n");
const COMMENT_LINE = Buffer.from("\n:");
const DATA_LINE = Buffer.from("\ndata");
const EMPTY_EVENT_BYTES = "data:\n\n".length;
/** Shorter events are parsed at once, and have at most twice as many levels as longer ones, whatever they contain. */
const MAX_UNMEASURED = 1_024;
const DATA_LIMITS: JsonLimits = { maxDepth: 256, maxValues: 65_536, maxShapes: MAX_SHAPES };
const FIRST_BYTES = 4_096;

/**
 * Splits a server-sent event stream into whole events, including the blank line, as the WHATWG standard specifies and
 * independently of chunk boundaries. It works on bytes and carries a remainder, so that an event or a character split
 * over two chunks is joined. A leading byte order mark is removed, and every line ends with LF, since readers may not
 * expect CR. Comments, blank lines and events without a line of data are dropped, by native searches: a hostile stream
 * has millions of them. An event may have at most `maxBytes`. The time is linear in the bytes, however small the chunks
 * are: an unfinished event grows in a buffer that doubles, and is searched once.
 */
export class EventScanner {
  readonly #maxBytes: number;
  readonly #keepsComments: boolean;
  /** Holds the unfinished event at its start. */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Whether the unfinished event has a line of data. */
  #hasData = false;
  /** Where to go on searching: for the end of the unfinished event, or for its data. */
  #searched = 0;
  /** The first bytes of the stream, while they may belong to a byte order mark. */
  #beginning: Buffer | undefined = NOTHING;
  /** Whether the last byte was a CR that may be the first half of CR LF. */
  #skipsLf = false;

  /** `keepsComments` is for the router's own streams, which have a bill in a comment. */
  constructor({ maxBytes = 1_048_576, keepsComments = false } = {}) {
    this.#maxBytes = maxBytes;
    this.#keepsComments = keepsComments;
  }

  /** The events completed by `chunk`, in order. Throws when an event grows past the limit. */
  push(chunk: Buffer): Buffer[] {
    const fresh = this.#withLf(this.#withoutMark(chunk));
    if (fresh.length === 0) return [];
    const bytes = this.#length === 0 ? fresh : this.#append(fresh);
    const events: Buffer[] = [];
    let start = 0;
    let from = this.#searched;
    for (;;) {
      if (!this.#hasData) {
        const line = this.#keepsComments ? from : dataLine(bytes, from);
        if (line !== start) start = startOfEvent(bytes, start, from, line === -1 ? bytes.length : line);
        if (line === -1) break;
        from = line;
        this.#hasData = true;
      }
      if (isEmptyEvent(bytes, start)) start += EMPTY_EVENT_BYTES;
      else {
        const at = bytes.indexOf(BLANK_LINE, from);
        if (at === -1) break;
        const event = bytes.subarray(start, at + BLANK_LINE.length);
        events.push(this.#keepsComments ? event : withoutComments(event));
        start = at + BLANK_LINE.length;
      }
      from = start;
      this.#hasData = false;
    }
    this.#storeRemainder(bytes, start);
    return events;
  }

  #withoutMark(chunk: Buffer): Buffer {
    if (this.#beginning === undefined) return chunk;
    const bytes = this.#beginning.length === 0 ? chunk : Buffer.concat([this.#beginning, chunk]);
    const isMark = BYTE_ORDER_MARK.subarray(0, bytes.length).equals(
      bytes.subarray(0, BYTE_ORDER_MARK.length),
    );
    if (isMark && bytes.length < BYTE_ORDER_MARK.length) {
      this.#beginning = bytes;
      return NOTHING;
    }
    this.#beginning = undefined;
    return isMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  }

  /** The same lines, each of which ends with LF. */
  #withLf(chunk: Buffer): Buffer {
    if (!this.#skipsLf && !chunk.includes(CR)) return chunk;
    const lines = Buffer.allocUnsafeSlow(chunk.length);
    let length = 0;
    let isAfterCr = this.#skipsLf;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte !== LF || !isAfterCr) lines[length++] = byte === CR ? LF : byte;
      isAfterCr = byte === CR;
    }
    if (chunk.length > 0) this.#skipsLf = isAfterCr;
    return lines.subarray(0, length);
  }

  /** The bytes after the last whole event. */
  get remainder(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Appends a chunk to the unfinished event. */
  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#buffer = enlarged(this.remainder, length);
    this.#buffer.set(chunk, this.#length);
    return this.#buffer.subarray(0, length);
  }

  #storeRemainder(bytes: Buffer, start: number): void {
    const rest = bytes.subarray(start);
    if (rest.length > this.#maxBytes) throw new Error("an event of the stream is too long");
    // Returned events are views of their buffer, so the remainder gets a new one.
    const isAlone = start === 0 && bytes.buffer === this.#buffer.buffer && this.#length > 0;
    if (!isAlone) this.#buffer = rest.length === 0 ? rest : enlarged(rest, rest.length);
    this.#length = rest.length;
    // The last bytes may be the beginning of what is searched for.
    this.#searched = Math.max(0, rest.length - DATA_LINE.length);
  }
}

function enlarged(bytes: Buffer, length: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * length));
  buffer.set(bytes);
  return buffer;
}

/** The offset of the next line that begins with `data`; -1 if there is none. `from` may be inside of a line. */
function dataLine(bytes: Buffer, from: number): number {
  const beginsLine = from === 0 || bytes[from - 1] === LF;
  if (beginsLine && bytes[from] === LETTER_D && bytes.toString("latin1", from, from + 4) === "data")
    return from;
  const at = bytes.indexOf(DATA_LINE, from);
  return at === -1 ? -1 : at + 1;
}

/**
 * The offset after the last blank line of the range from `start` to `end`, or `start` if it has none. It has none before
 * `from`.
 */
function startOfEvent(bytes: Buffer, start: number, from: number, end: number): number {
  const searched = Math.max(start, from - 1);
  const at = bytes.subarray(searched, end).lastIndexOf(BLANK_LINE);
  const next = at === -1 ? start : searched + at + BLANK_LINE.length;
  return bytes[next] === LF ? next + 1 : next;
}

/** Whether an event begins here whose only line is `data:`. */
function isEmptyEvent(bytes: Buffer, start: number): boolean {
  const isOneLine = bytes[start + 4] === COLON && bytes[start + 5] === LF && bytes[start + 6] === LF;
  return isOneLine && bytes[start] === LETTER_D;
}

function withoutComments(event: Buffer): Buffer {
  if (event[0] !== COLON && !event.includes(COMMENT_LINE)) return event;
  return Buffer.from(event.toString("latin1").replace(/^:.*\n/gm, ""), "latin1");
}

/**
 * The data of an event, its lines joined by LF, or undefined if it has none. Throws for JSON with so many values that
 * parsing it would block the event loop, or so many levels that clients cannot parse it.
 */
export function eventData(event: Buffer): string | undefined {
  if (event.length > MAX_UNMEASURED && measureJson(event, DATA_LIMITS).excess !== undefined)
    throw new Error("an event of the stream has too many values, levels or member names");
  const at = event.indexOf("data:");
  if (at === -1) return undefined;
  if (at !== 0 && event[at - 1] !== LF) return joinedData(event);
  const end = event.indexOf(LF, at);
  if (end !== -1 && end + BLANK_LINE.length < event.length && event.indexOf(DATA_LINE, end) !== -1)
    return joinedData(event);
  return event.toString("utf8", at + 5, end === -1 ? event.length : end).trim();
}

function joinedData(event: Buffer): string | undefined {
  const lines = event.toString("utf8").split("\n");
  const data = lines.filter((line) => line === "data" || line.startsWith("data:"));
  return data.length === 0
    ? undefined
    : data
        .map((line) => line.slice(5).replace(/^ /, ""))
        .join("\n")
        .trim();
}
