import { isAscii } from "node:buffer";
import { characterOf, ESCAPES } from "../../kernel/text/json-text.ts";
import { type JsonFault, JsonParts, type LongText, placeholderOf } from "./json-parts.ts";
import { PieceBuffer } from "./piece-buffer.ts";
import { TextCollector } from "./text-collector.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const QUOTES = Buffer.from('"');
const HEX_DIGITS = 4;
/** Within this distance a quote or a backslash is searched byte by byte, which is faster than a call. */
const NEAR = 64;

/** Longer texts are extracted from the JSON. */
const MAX_SHORT_TEXT = 4_096;
/** The maximum size of a body without its long texts. */
const MAX_REST_BYTES = 8 * 1_048_576;
const MAX_TEXTS = 65_536;
/** PHP escapes every slash, which is each 64th character of base64: 1.6 million of a whole body. */
const MAX_ESCAPES = 2_097_152;

/** The maximum length of a stored text, and the callback that reserves memory; `feed` throws what `reserve` throws. */
export type ScannerOptions = {
  readonly maxTextLength: number;
  readonly reserve: (bytes: number) => void;
};

/** An incomplete escape in a long text: a backslash alone, or the hexadecimal digits after `\u` so far. */
type Escape = { digits: string | undefined };

type Chunk = { readonly bytes: Buffer; nextQuote: number; nextBackslash: number };

/**
 * Scans a JSON body as its chunks arrive, extracts its long texts and decodes each when it ends. It buffers no chunk: a
 * body of segments takes three quarters of its size in memory. Time is linear, 1 to 10 ns per byte. A parser checks
 * whether the rest is JSON; long texts are checked here.
 */
export class JsonScanner {
  readonly #rest: PieceBuffer;
  readonly #collector: TextCollector;
  readonly #short = Buffer.alloc(MAX_SHORT_TEXT);
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true });
  #texts: LongText[] = [];
  #state: "outside" | "short" | "long" = "outside";
  #shortLength = 0;
  #isEscaped = false;
  #escape: Escape | undefined;
  #isInsideCharacter = false;
  #textCount = 0;
  #escapes = 0;
  #fault: JsonFault | undefined;

  constructor({ maxTextLength, reserve }: ScannerOptions) {
    this.#rest = new PieceBuffer(MAX_REST_BYTES, reserve);
    this.#collector = new TextCollector(maxTextLength, reserve);
  }

  /** Whether the body has a fault, so that the rest can be ignored. */
  get hasFailed(): boolean {
    return this.#fault !== undefined;
  }

  /** Reads the next chunk, without retaining it. */
  feed(bytes: Buffer): void {
    if (this.#fault) return;
    this.#checkUtf8(bytes);
    const chunk: Chunk = { bytes, nextQuote: -1, nextBackslash: -1 };
    for (let at = 0; at < bytes.length && !this.#fault; ) {
      if (this.#state === "outside") at = this.#readOutside(chunk, at);
      else if (this.#state === "short") at = this.#readShort(chunk, at);
      else at = this.#readLong(chunk, at);
    }
  }

  /** The parts of the body, or its fault. */
  end(): JsonParts {
    if (this.#isInsideCharacter || this.#state !== "outside") this.#fail({ kind: "malformed" });
    if (this.#fault) return new JsonParts(Buffer.alloc(0), [], this.#fault);
    return new JsonParts(this.#rest.whole(), this.#texts);
  }

  #readOutside(chunk: Chunk, at: number): number {
    const quote = placeOf(chunk, "nextQuote", QUOTE, at);
    if (quote > at) this.#keep(chunk.bytes.subarray(at, quote));
    if (quote === chunk.bytes.length) return quote;
    if (++this.#textCount > MAX_TEXTS) this.#exceed("has too many values");
    this.#state = "short";
    this.#shortLength = 0;
    this.#isEscaped = false;
    return quote + 1;
  }

  #readShort({ bytes }: Chunk, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE && !this.#isEscaped) {
        this.#keepText(this.#short.subarray(0, this.#shortLength));
        return at + 1;
      }
      if (this.#shortLength === MAX_SHORT_TEXT) {
        this.#startLong();
        return at;
      }
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
      if (this.#isEscaped) this.#countEscape();
      this.#short[this.#shortLength++] = byte;
    }
    return bytes.length;
  }

  /** Re-reads the beginning of the text as that of a long text. */
  #startLong(): void {
    this.#state = "long";
    this.#escape = undefined;
    this.#collector.begin();
    const beginning: Chunk = { bytes: this.#short, nextQuote: -1, nextBackslash: -1 };
    for (let at = 0; at < MAX_SHORT_TEXT && !this.#fault; ) at = this.#readLong(beginning, at);
  }

  #readLong(chunk: Chunk, at: number): number {
    const { bytes } = chunk;
    if (this.#escape) {
      this.#readEscape(this.#escape, bytes[at] ?? 0);
      return at + 1;
    }
    const end = nextSpecial(chunk, at);
    if (end > at) this.#collector.add(bytes, at, end);
    if (end === bytes.length) return end;
    if (bytes[end] === QUOTE) {
      this.#endLong();
      return end + 1;
    }
    this.#countEscape();
    const code = ESCAPES[bytes[end + 1] ?? 0];
    if (code) {
      this.#collector.addEscaped(code);
      return end + 2;
    }
    this.#escape = { digits: undefined };
    return end + 1;
  }

  #readEscape(begun: Escape, byte: number): void {
    if (begun.digits === undefined) {
      if (byte === LETTER_U) begun.digits = "";
      else this.#endEscape(ESCAPES[byte] || undefined);
      return;
    }
    begun.digits += String.fromCharCode(byte);
    if (begun.digits.length < HEX_DIGITS) return;
    this.#endEscape(characterOf(begun.digits));
  }

  #endEscape(code: number | undefined): void {
    this.#escape = undefined;
    if (code === undefined) this.#fail({ kind: "malformed" });
    else this.#collector.addEscaped(code);
  }

  #endLong(): void {
    const text = this.#collector.end();
    if (text) {
      this.#keepText(Buffer.from(placeholderOf(this.#texts.length)));
      this.#texts.push(text);
    } else this.#fail({ kind: "malformed" });
  }

  #keepText(text: Buffer): void {
    for (const piece of [QUOTES, text, QUOTES]) this.#keep(piece);
    this.#state = "outside";
  }

  #keep(piece: Buffer): void {
    if (!this.#rest.add(piece)) this.#exceed("has too much beside its long texts");
  }

  #countEscape(): void {
    if (++this.#escapes > MAX_ESCAPES) this.#exceed(`has more than ${MAX_ESCAPES} escaped characters`);
  }

  #exceed(why: string): void {
    this.#fail({ kind: "excess", why });
  }

  #fail(fault: JsonFault): void {
    this.#fault ??= fault;
    this.#texts = [];
    this.#rest.clear();
  }

  #checkUtf8(bytes: Buffer): void {
    if (!this.#isInsideCharacter && isAscii(bytes)) return;
    try {
      this.#utf8.decode(bytes, { stream: true });
    } catch {
      this.#fail({ kind: "malformed" });
    }
    this.#isInsideCharacter = !isAscii(bytes.subarray(-1));
  }
}

/** The position of the next quote or backslash in a chunk, or the chunk's length. */
function nextSpecial(chunk: Chunk, from: number): number {
  const { bytes } = chunk;
  const near = Math.min(bytes.length, from + NEAR);
  for (let at = from; at < near; at++) if (bytes[at] === QUOTE || bytes[at] === BACKSLASH) return at;
  if (near === bytes.length) return near;
  return Math.min(placeOf(chunk, "nextQuote", QUOTE, near), placeOf(chunk, "nextBackslash", BACKSLASH, near));
}

/** The next position of a byte in a chunk, or the chunk's length. The last position found is cached. */
function placeOf(chunk: Chunk, name: "nextQuote" | "nextBackslash", byte: number, from: number): number {
  if (chunk[name] < from) {
    const at = chunk.bytes.indexOf(byte, from);
    chunk[name] = at === -1 ? chunk.bytes.length : at;
  }
  return chunk[name];
}
