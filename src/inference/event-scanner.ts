import { type JsonLimits, measureJson } from "./json-shape.ts";

const LF = 0x0a;
const CR = 0x0d;
/** Shorter events are parsed in less than 5 ms, whatever is in them. */
const MAX_UNMEASURED = 65_536;
const DATA_LIMITS: JsonLimits = { maxDepth: 256, maxValues: 65_536 };
const FIRST_BYTES = 4_096;

/**
 * Cuts a server-sent event stream into whole events, blank line included, wherever the network cut it. It works on
 * bytes with a carried remainder, so that an event or a character in two chunks is put together and nothing else is
 * touched. An event may be at most `maxBytes` long. Its time is linear in the bytes, however small the chunks are: an
 * unfinished event grows in a buffer that doubles, and is searched once.
 */
export class EventScanner {
  readonly #maxBytes: number;
  /** The unfinished event is at its beginning. */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Before this place the unfinished event has no end. */
  #searched = 0;

  constructor(maxBytes = 1_048_576) {
    this.#maxBytes = maxBytes;
  }

  /** The events completed by `chunk`, in order. Throws when an event grows past the limit. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#length === 0 ? chunk : this.#append(chunk);
    const events: Buffer[] = [];
    let start = 0;
    for (let end = eventEnd(bytes, this.#searched); end !== -1; end = eventEnd(bytes, start)) {
      events.push(bytes.subarray(start, end));
      start = end;
      this.#searched = end;
    }
    this.#keep(bytes, start);
    return events;
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

/**
 * The text after `data:` of an event of one data line, or undefined. Throws for JSON of so many values that parsing it
 * would hold up everything else.
 */
export function eventData(event: Buffer): string | undefined {
  if (event.length > MAX_UNMEASURED && measureJson(event, DATA_LIMITS).excess !== undefined)
    throw new Error("an event of the stream has too many values");
  const at = event.indexOf("data:");
  if (at !== 0 && event[at - 1] !== LF) return undefined;
  const end = event.indexOf(LF, at);
  return event.toString("utf8", at + 5, end === -1 ? event.length : end).trim();
}

function eventEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}
