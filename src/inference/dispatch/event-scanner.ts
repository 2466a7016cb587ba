import { BYTE_ORDER_MARK } from "../../kernel/text/byte-order-mark.ts";
import { type JsonLimits, measureJson } from "../../kernel/text/json-shape.ts";

const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);
/** Shorter events are parsed at once, and have at most twice as many levels as longer ones, whatever they contain. */
const MAX_UNMEASURED = 1_024;
const DATA_LIMITS: JsonLimits = { maxDepth: 256, maxValues: 65_536 };
const FIRST_BYTES = 4_096;

/**
 * Splits a server-sent event stream into whole events, including the blank line, as the WHATWG standard specifies and
 * independently of chunk boundaries. It works on bytes and carries a remainder, so that an event or a character split
 * over two chunks is joined. A leading byte order mark is removed and lines that end with CR alone are rewritten, since
 * readers may not expect them; nothing else changes. An event may have at most `maxBytes`. The time is linear in the
 * bytes, however small the chunks are: an unfinished event grows in a buffer that doubles, and is searched once.
 */
export class EventScanner {
  readonly #maxBytes: number;
  /** Holds the unfinished event at its start. */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  /** The unfinished event has no end before this offset. */
  #searched = 0;
  /** The first bytes of the stream, while they may belong to a byte order mark. */
  #beginning: Buffer | undefined = NOTHING;
  /** Whether a line ended with CR alone. */
  #hasLoneCr = false;
  /** Whether an event ended with a CR that may be the first half of CR LF. */
  #skipsLf = false;

  constructor(maxBytes = 1_048_576) {
    this.#maxBytes = maxBytes;
  }

  /** The events completed by `chunk`, in order. Throws when an event grows past the limit. */
  push(chunk: Buffer): Buffer[] {
    const fresh = this.#withoutMark(chunk);
    if (fresh.length === 0) return [];
    const bytes = this.#length === 0 ? fresh : this.#append(fresh);
    this.#hasLoneCr ||= hasLoneCr(bytes, this.#searched);
    const endOf = this.#hasLoneCr ? eventEndOfAny : eventEnd;
    const events: Buffer[] = [];
    let start = 0;
    for (let end = endOf(bytes, this.#searched); end !== -1; end = endOf(bytes, start)) {
      const event = bytes.subarray(start, end);
      events.push(this.#hasLoneCr ? withLf(event) : event);
      start = end;
      this.#searched = end;
    }
    this.#skipsLf = start > 0 && start === bytes.length && bytes[start - 1] === CR;
    this.#storeRemainder(bytes, start);
    return events;
  }

  #withoutMark(chunk: Buffer): Buffer {
    if (this.#skipsLf && chunk.length > 0) {
      this.#skipsLf = false;
      if (chunk[0] === LF) return chunk.subarray(1);
    }
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
    // The end of an event has up to three bytes.
    this.#searched = Math.max(0, rest.length - 2);
  }
}

function enlarged(bytes: Buffer, length: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * length));
  buffer.set(bytes);
  return buffer;
}

/**
 * The data of an event, its lines joined by LF, or undefined if it has none. Throws for JSON with so many values that
 * parsing it would block the event loop, or so many levels that clients cannot parse it.
 */
export function eventData(event: Buffer): string | undefined {
  if (event.length > MAX_UNMEASURED && measureJson(event, DATA_LIMITS).excess !== undefined)
    throw new Error("an event of the stream has too many values or levels");
  const at = event.indexOf("data:");
  if (at === -1) return undefined;
  if (at !== 0 && event[at - 1] !== LF) return joinedData(event);
  const end = event.indexOf(LF, at);
  if (end !== -1 && end + BLANK_BYTES < event.length && event.indexOf("\ndata", end) !== -1)
    return joinedData(event);
  return event.toString("utf8", at + 5, end === -1 ? event.length : end).trim();
}

/** Maximum bytes of a blank line's end, plus one for the index of the preceding line end. */
const BLANK_BYTES = 3;

function joinedData(event: Buffer): string | undefined {
  const lines = event.toString("utf8").split(/\r?\n/);
  const data = lines.filter((line) => line === "data" || line.startsWith("data:"));
  return data.length === 0
    ? undefined
    : data
        .map((line) => line.slice(5).replace(/^ /, ""))
        .join("\n")
        .trim();
}

/** The offset after the next blank line, for lines that end with LF or CR LF. */
function eventEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

/**
 * The offset after the next blank line, for any line ends. A CR as the last byte ends the blank line if the line before
 * it ended with CR alone.
 */
function eventEndOfAny(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== LF && bytes[at] !== CR) continue;
    const isPair = bytes[at] === CR && bytes[at + 1] === LF;
    const next = isPair ? at + 2 : at + 1;
    if (bytes[next] === LF) return next + 1;
    if (bytes[next] === CR) {
      if (bytes[next + 1] === LF) return next + 2;
      if (next + 1 < bytes.length || (bytes[at] === CR && !isPair)) return next + 1;
    }
    at = next - 1;
  }
  return -1;
}

function hasLoneCr(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(CR, from); at !== -1; at = bytes.indexOf(CR, at + 1))
    if (at + 1 < bytes.length && bytes[at + 1] !== LF) return true;
  return false;
}

function withLf(event: Buffer): Buffer {
  return event.includes(CR) ? Buffer.from(event.toString("latin1").replace(/\r\n?/g, "\n"), "latin1") : event;
}
