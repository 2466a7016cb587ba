import type { AppError } from "../../kernel/errors.ts";
import { isText } from "../body/elided-text.ts";
import { invalidField } from "../body/invalid-field.ts";

/** Types are shorter; a longer one is not repeated whole. */
const MAX_TYPE = 64;

/**
 * The parts of a request that no chat can express. Providers that have the format of responses serve the request; the
 * first such part is the reason for the others to refuse it.
 */
export class Unsupported {
  #first: AppError | undefined;
  #hiddenLength = 0;
  #hasEncrypted = false;

  /** Records a field that no chat can express. Only the first becomes an error: a body may have thousands. */
  add(param: string, reason: string): void {
    this.#first ??= invalidField(param, reason);
  }

  /** Records text that a chat leaves out, in characters. */
  hide(length: number): void {
    this.#hiddenLength += length;
  }

  /** Records text that only its author can read, in characters. A chat leaves it out. */
  hideEncrypted(length: number): void {
    if (length > 0) this.#hasEncrypted = true;
    this.hide(length);
  }

  /** Why the request cannot be sent as a chat; undefined if it can. */
  get reason(): AppError | undefined {
    return this.#first;
  }

  /** Whether the request has text that only its author can read. */
  get hasEncrypted(): boolean {
    return this.#hasEncrypted;
  }

  /** The characters that a chat leaves out. */
  get hiddenLength(): number {
    return this.#hiddenLength;
  }
}

/** Why an item, a part or a tool of this type is refused. */
export function notSupported(things: "items" | "parts" | "tools", type: unknown): string {
  if (typeof type === "string") return `${things} of type ${type.slice(0, MAX_TYPE)} are not supported`;
  return isText(type) ? "not supported" : "must be a string";
}
