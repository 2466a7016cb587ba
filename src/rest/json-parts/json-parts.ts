import { randomBytes } from "node:crypto";

/** Why a body cannot be used: it is not JSON, or it has too much of something (`why` completes "The body ..."). */
export type JsonFault = { readonly kind: "malformed" } | { readonly kind: "excess"; readonly why: string };

/** A long text of a JSON body, which was taken out of it while it came. Only base64 is kept, decoded. */
export class LongText {
  /** The length as it was sent, in bytes; a character behind a backslash counts once. */
  readonly length: number;
  /** What standard base64 with its padding decodes to; undefined for any other text. */
  readonly bytes: Buffer | undefined;

  constructor(length: number, bytes: Buffer | undefined) {
    this.length = length;
    this.bytes = bytes;
  }
}

/** A JSON body with a placeholder in the place of each long text: the rest is parsed in a few milliseconds. */
export class JsonParts {
  readonly json: Buffer;
  readonly fault: JsonFault | undefined;
  readonly #texts: readonly LongText[];

  constructor(json: Buffer, texts: readonly LongText[], fault?: JsonFault) {
    this.json = json;
    this.fault = fault;
    this.#texts = texts;
  }

  /** What was parsed of `json`, with a `LongText` for each placeholder. Lists and objects are changed in place. */
  withTexts(value: unknown): unknown {
    return this.#texts.length === 0 ? value : this.#restore(value);
  }

  #restore(value: unknown): unknown {
    if (typeof value === "string") return value.startsWith(MARK) ? this.#textOf(value) : value;
    if (Array.isArray(value)) for (const [at, item] of value.entries()) value[at] = this.#restore(item);
    else if (isObject(value))
      for (const [name, item] of Object.entries(value)) value[name] = this.#restore(item);
    return value;
  }

  #textOf(placeholder: string): LongText {
    const text = this.#texts[Number(placeholder.slice(MARK.length))];
    if (!text) throw new Error("a placeholder without its text");
    return text;
  }
}

/** A client cannot write this by itself, so it cannot name a text that it did not send. */
const MARK = `long-text-${randomBytes(16).toString("hex")}:`;

/** What stands in the JSON in place of its long text of this number. */
export function placeholderOf(index: number): string {
  return `${MARK}${index}`;
}

/** Whether a value of JSON is an object: a long text is none, and neither is a list. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value) && !(value instanceof LongText);
}

/** Nothing at all, as a body. */
export const NO_PARTS = new JsonParts(Buffer.alloc(0), []);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
