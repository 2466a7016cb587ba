import { randomBytes } from "node:crypto";

/** Why a body is rejected: it is not JSON, or it exceeds a limit (`why` completes "The body ..."). */
export type JsonFault = { readonly kind: "malformed" } | { readonly kind: "excess"; readonly why: string };

/** A long string of a JSON body, extracted as the body arrived. Only base64 is stored, decoded. */
export class LongText {
  /** The length as it was sent, in bytes; an escaped character counts once. */
  readonly length: number;
  /** The decoded bytes of padded standard base64; undefined for any other text. */
  readonly bytes: Buffer | undefined;

  constructor(length: number, bytes: Buffer | undefined) {
    this.length = length;
    this.bytes = bytes;
  }
}

/** A JSON body with a placeholder for each long text: the rest is parsed in a few milliseconds. */
export class JsonParts {
  readonly json: Buffer;
  readonly fault: JsonFault | undefined;
  readonly #texts: readonly LongText[];

  constructor(json: Buffer, texts: readonly LongText[], fault?: JsonFault) {
    this.json = json;
    this.fault = fault;
    this.#texts = texts;
  }

  /** Replaces each placeholder in the parsed `json` with its `LongText`. Lists and objects are changed in place. */
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

/** Random, so that a client cannot forge a placeholder for a text that it did not send. */
const MARK = `long-text-${randomBytes(16).toString("hex")}:`;

/** The placeholder in the JSON for the long text of this index. */
export function placeholderOf(index: number): string {
  return `${MARK}${index}`;
}

/** Whether a JSON value is an object, and not a long text or a list. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value) && !(value instanceof LongText);
}

/** An empty body. */
export const NO_PARTS = new JsonParts(Buffer.alloc(0), []);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
