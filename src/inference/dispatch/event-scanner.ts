import { type JsonLimits, measureJson } from "../../kernel/text/json-shape.ts";

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NOTHING = Buffer.alloc(0);
/** Shorter events are parsed in less than 5 ms, whatever is in them. */
const MAX_UNMEASURED = 65_536;
const DATA_LIMITS: JsonLimits = { maxDepth: 256, maxValues: 65_536 };
const FIRST_BYTES = 4_096;

/**
 * Cuts a server-sent event stream into whole events as the WHATWG's standard says, blank line included, wherever the
 * network cut it. It works on bytes with a carried remainder, so that an event or a character in two chunks is put
 * together. What readers may not expect is left out or rewritten, a byte order mark at the beginning and lines that end
 * with CR alone; nothing else is touched. An event may be at most `maxBytes` long. Its time is linear in the bytes, however small the chunks are: an
 * unfinished event grows in a buffer that doubles, and is searched once.
 */
export class EventScanner {
  readonly #maxBytes: number;
  /** The unfinished event is at its beginning. */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Before this place the unfinished event has no end. */
  #searched = 0;
  /** The beginning of the stream, while it may be that of a byte order mark. */
  #beginning: Buffer | undefined = NOTHING;
  /** Whether a line was ended by CR alone. */
  #hasLoneCr = false;
  /** Whether an event ended with a CR that may have been the half of a line end. */
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
    this.#keep(bytes, start);
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

  /** What came after the last whole event. */
  get remainder(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** The unfinished event with what came now. */
  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#buffer = enlarged(this.remainder, length);
    this.#buffer.set(chunk, this.#length);
    return this.#buffer.subarray(0, length);
  }

  #keep(bytes: Buffer, start: number): void {
    const rest = bytes.subarray(start);
    if (rest.length > this.#maxBytes) throw new Error("an event of the stream is too long");
    // Events that were handed out are views of the buffer they came in, so what is left gets another one.
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

/** The data of an event, its lines joined by LF, or undefined where it has none. Throws for JSON of so many values that parsing it would hold up everything else. */
export function eventData(event: Buffer): string | undefined {
  if (event.length > MAX_UNMEASURED && measureJson(event, DATA_LIMITS).excess !== undefined)
    throw new Error("an event of the stream has too many values");
  const at = event.indexOf("data:");
  if (at === -1) return undefined;
  if (at !== 0 && event[at - 1] !== LF) return joinedData(event);
  const end = event.indexOf(LF, at);
  if (end !== -1 && end + BLANK_BYTES < event.length && event.indexOf("\ndata", end) !== -1)
    return joinedData(event);
  return event.toString("utf8", at + 5, end === -1 ? event.length : end).trim();
}

/** The end of a blank line has at most so many bytes, and one more where the index of the line end before it is counted. */
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

/** The place behind the next blank line, of lines that end with LF or CR LF. */
function eventEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

/** The place behind the next blank line, however lines end. A CR that is the last byte ends it where the line before ended with CR alone. */
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
