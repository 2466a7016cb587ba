import { randomBytes } from "node:crypto";
import type { TextSpan } from "../../kernel/text/json-shape.ts";

const MAX_HEAD = 4_096;

/** A long string of a JSON body that was not parsed. It is not a `string`, so fields for short texts reject it. */
export class ElidedText {
  readonly #json: Buffer;
  readonly #placeholder: string;

  /** `json` are the bytes of the string in the body, without its quotes. */
  constructor(json: Buffer, placeholder: string) {
    this.#json = json;
    this.#placeholder = placeholder;
  }

  /** In bytes of JSON. */
  get length(): number {
    return this.#json.length;
  }

  /** Its first bytes, as JSON. */
  get head(): Buffer {
    return this.#json.subarray(0, MAX_HEAD);
  }

  /** The placeholder that `ElidedTexts` later replaces with the text. */
  toJSON(): string {
    return this.#placeholder;
  }
}

/** The long strings of one JSON body: removed before it is parsed, and restored when it is serialized. */
export class ElidedTexts {
  readonly #json: Buffer;
  readonly #spans: readonly TextSpan[];
  /** Random per body, so that no client can guess it. */
  readonly #mark = `elided-${randomBytes(16).toString("hex")}:`;

  constructor(json: Buffer, spans: readonly TextSpan[]) {
    this.#json = json;
    this.#spans = spans;
  }

  /** The same JSON with a placeholder for each long string: the rest is parsed in a few milliseconds. */
  withoutTexts(): Buffer {
    const parts: Buffer[] = [];
    let done = 0;
    for (const [index, { start, end }] of this.#spans.entries()) {
      parts.push(this.#json.subarray(done, start), Buffer.from(`${this.#mark}${index}`));
      done = end;
    }
    return Buffer.concat([...parts, this.#json.subarray(done)]);
  }

  /** Replaces each placeholder in the parsed `withoutTexts` by an `ElidedText`, in place. */
  named(value: unknown): unknown {
    if (typeof value === "string") return value.startsWith(this.#mark) ? this.#textOf(value) : value;
    if (Array.isArray(value)) for (const [at, item] of value.entries()) value[at] = this.named(item);
    else if (isFields(value))
      for (const [name, item] of Object.entries(value)) {
        const text = this.named(item);
        if (text !== item) value[name] = text;
      }
    return value;
  }

  /** Restores all long strings in the serialized result of `named`. */
  restored(text: string): Buffer {
    return Buffer.concat(this.restoredPieces(text));
  }

  /** The pieces of `restored`. */
  restoredPieces(text: string): readonly Buffer[] {
    const parts: Buffer[] = [];
    let done = 0;
    for (const match of text.matchAll(new RegExp(`${this.#mark}(\\d+)`, "g"))) {
      const span = this.#spans[Number(match[1])];
      if (!span) continue;
      parts.push(Buffer.from(text.slice(done, match.index)), this.#json.subarray(span.start, span.end));
      done = match.index + match[0].length;
    }
    return [...parts, Buffer.from(text.slice(done))];
  }

  /** The bytes of each long string. */
  *parts(): Iterable<Buffer> {
    for (const { start, end } of this.#spans) yield this.#json.subarray(start, end);
  }

  #textOf(placeholder: string): ElidedText {
    const span = this.#spans[Number(placeholder.slice(this.#mark.length))];
    if (!span) throw new Error("a placeholder without its text");
    return new ElidedText(this.#json.subarray(span.start, span.end), placeholder);
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
