import { readBase64 } from "../../kernel/text/base64.ts";
import { hasControlCharacter } from "../../kernel/text/json-text.ts";
import { LongText } from "./json-parts.ts";

/** Up to this length, copying byte by byte is faster than a call. */
const SHORT_PIECE = 64;
const SPACE = 0x20;
const ASCII_BYTES = 0x80;

/**
 * Collects one long text after another from the pieces in which they arrive. A text of more than `maxLength` characters
 * is measured and not stored. All texts share one buffer, as each is decoded when it ends.
 */
export class TextCollector {
  readonly #maxLength: number;
  readonly #reserve: (bytes: number) => void;
  #buffer: Buffer | undefined;
  #length = 0;
  #isBase64 = true;
  #isMalformed = false;

  /** `reserve` is called for all memory that is retained, and may throw. */
  constructor(maxLength: number, reserve: (bytes: number) => void) {
    this.#maxLength = maxLength;
    this.#reserve = reserve;
  }

  begin(): void {
    this.#length = 0;
    this.#isBase64 = true;
    this.#isMalformed = false;
  }

  /** Adds bytes without escapes, from `start` to before `end`. */
  add(bytes: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (length > this.#maxLength) {
      this.#stopStoring();
      this.#check(bytes.subarray(start, end));
    } else if (end - start > SHORT_PIECE) bytes.copy(this.#room(), this.#length, start, end);
    else {
      const room = this.#room();
      for (let from = start, to = this.#length; from < end; from++, to++) room[to] = bytes[from] ?? 0;
    }
    this.#length = length;
  }

  /** Adds the character that an escape stands for. */
  addEscaped(code: number): void {
    if (code < SPACE || code >= ASCII_BYTES) this.#isBase64 = false;
    if (this.#length >= this.#maxLength) this.#stopStoring();
    // A space stands for characters that are not stored, since it is never a fault.
    else this.#room()[this.#length] = this.#isBase64 ? code : SPACE;
    this.#length++;
  }

  /** Ends the text. Undefined if the text is not valid JSON. */
  end(): LongText | undefined {
    const isWhole = this.#length <= this.#maxLength;
    const stored = this.#room().subarray(0, isWhole ? this.#length : 0);
    if (isWhole && this.#isBase64) {
      const bytes = readBase64(stored.toString("latin1"));
      if (bytes) {
        this.#reserve(bytes.length);
        return new LongText(this.#length, bytes);
      }
    }
    this.#check(stored);
    return this.#isMalformed ? undefined : new LongText(this.#length, undefined);
  }

  /** Checks what was stored so far once; from here on each piece is checked by itself. */
  #stopStoring(): void {
    if (this.#length <= this.#maxLength) this.#check(this.#room().subarray(0, this.#length));
  }

  #check(piece: Buffer): void {
    this.#isMalformed ||= hasControlCharacter(piece);
  }

  #room(): Buffer {
    if (!this.#buffer) {
      this.#reserve(this.#maxLength);
      this.#buffer = Buffer.allocUnsafe(this.#maxLength);
    }
    return this.#buffer;
  }
}
