import type { AppError } from "../../kernel/errors.ts";

/**
 * What a request has that no chat can express. Providers that have the format of responses serve it; the first of it is
 * the reason for the others to refuse it.
 */
export class Unsupported {
  #first: AppError | undefined;
  #hiddenLength = 0;

  /** Records what no chat can express. */
  add(reason: AppError): void {
    this.#first ??= reason;
  }

  /** Records text that a chat leaves out, in characters. */
  hide(length: number): void {
    this.#hiddenLength += length;
  }

  /** Why the request cannot be sent as a chat; undefined if it can. */
  get reason(): AppError | undefined {
    return this.#first;
  }

  /** The characters that a chat leaves out. */
  get hiddenLength(): number {
    return this.#hiddenLength;
  }
}
