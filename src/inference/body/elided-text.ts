import { randomBytes } from "node:crypto";
import type { ValueSpan } from "../../kernel/text/json-shape.ts";

/** The bytes of the strings that are elided first: longer than any text that the router itself reads. */
export const MIN_LONGEST = 1_024;
const MAX_HEAD = 4_096;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** A long value of a JSON body that was not parsed. */
export class Elided {
  readonly #json: Buffer;
  readonly #placeholder: string;

  /** `json` are the bytes of the value in the body, without its quotes or brackets. */
  constructor(json: Buffer, placeholder: string) {
    this.#json = json;
    this.#placeholder = placeholder;
  }

  /** In bytes of JSON. */
  get length(): number {
    return this.#json.length;
  }

  /** Its bytes, as JSON. */
  get json(): Buffer {
    return this.#json;
  }

  /** Its first bytes, as JSON. */
  get head(): Buffer {
    return this.#json.subarray(0, MAX_HEAD);
  }

  /** The placeholder that `ElidedTexts` later replaces with the value. */
  toJSON(): string {
    return this.#placeholder;
  }
}

/** A long string. It is not a `string`, so fields for short texts reject it. */
export class ElidedText extends Elided {
  readonly kind = "text";
}

/** A long list of integers, none of which is negative. It is not an array, so fields for other lists reject it. */
export class ElidedTokens extends Elided {
  readonly kind = "tokens";

  /** The number of its tokens. */
  get count(): number {
    return this.json.reduce((count, byte) => (byte === COMMA ? count + 1 : count), 1);
  }
}

/**
 * The long strings of one JSON body, and its long lists of tokens: removed before it is parsed, and restored when it is
 * serialized.
 */
export class ElidedTexts {
  readonly #json: Buffer;
  readonly #spans: readonly ValueSpan[];
  /** Random per body, so that no client can guess it. */
  readonly #mark = `elided-${randomBytes(16).toString("hex")}:`;

  constructor(json: Buffer, spans: readonly ValueSpan[]) {
    this.#json = json;
    this.#spans = spans;
  }

  /** The same JSON with a placeholder for each long value: the rest is parsed in a few milliseconds. */
  withoutTexts(): Buffer {
    const parts: Buffer[] = [];
    let done = 0;
    for (const [index, { start, end }] of this.#spans.entries()) {
      parts.push(this.#json.subarray(done, start), Buffer.from(`"${this.#mark}${index};"`));
      done = end;
    }
    return Buffer.concat([...parts, this.#json.subarray(done)]);
  }

  /** Replaces each placeholder in the parsed `withoutTexts` by an `ElidedText` or `ElidedTokens`, in place. */
  named(value: unknown): unknown {
    if (typeof value === "string") return value.startsWith(this.#mark) ? this.#valueOf(value) : value;
    if (Array.isArray(value)) for (const [at, item] of value.entries()) value[at] = this.named(item);
    else if (isFields(value))
      for (const [name, item] of Object.entries(value)) {
        const text = this.named(item);
        if (text !== item) value[name] = text;
      }
    return value;
  }

  /** Restores all long values in the serialized result of `named`. */
  restored(text: string): Buffer {
    return Buffer.concat(this.restoredPieces(text));
  }

  /** The pieces of `restored`. */
  restoredPieces(text: string): readonly Buffer[] {
    const parts: Buffer[] = [];
    let done = 0;
    for (const match of text.matchAll(new RegExp(`${this.#mark}(\\d+);`, "g"))) {
      const span = this.#spans[Number(match[1])];
      if (!span) continue;
      // A text may be a part of another one; a list takes the place of the whole string.
      const quote = this.#isText(span) ? 0 : 1;
      const value = quote === 0 ? this.#contentOf(span) : this.#json.subarray(span.start, span.end);
      parts.push(Buffer.from(text.slice(done, match.index - quote)), value);
      done = match.index + match[0].length + quote;
    }
    return [...parts, Buffer.from(text.slice(done))];
  }

  /** The bytes of each long string. */
  *parts(): Iterable<Buffer> {
    for (const span of this.#spans) if (this.#isText(span)) yield this.#contentOf(span);
  }

  #valueOf(placeholder: string): ElidedText | ElidedTokens {
    const span = this.#spans[Number(placeholder.slice(this.#mark.length, -1))];
    if (!span) throw new Error("a placeholder without its value");
    const Value = this.#isText(span) ? ElidedText : ElidedTokens;
    return new Value(this.#contentOf(span), placeholder);
  }

  #isText({ start }: ValueSpan): boolean {
    return this.#json[start] === QUOTE;
  }

  #contentOf({ start, end }: ValueSpan): Buffer {
    return this.#json.subarray(start + 1, end - 1);
  }
}

/** The pieces of a value as JSON, with the long strings of the body that it was made of. */
export function serialized(value: object, elided: ElidedTexts | undefined): readonly Buffer[] {
  const json = JSON.stringify(value);
  return elided ? elided.restoredPieces(json) : [Buffer.from(json)];
}

/** Whether a value is a string, parsed or elided. */
export function isText(value: unknown): value is string | ElidedText {
  return typeof value === "string" || value instanceof ElidedText;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
