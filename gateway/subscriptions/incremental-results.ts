import type { ExecutionResult } from "graphql";
import { closeSource, ReleasingIterator } from "../../src/kernel/async/releasing-iterator.ts";
import type { ResultInParts } from "../federation/engine/incremental/parts.ts";
import { type IncrementalFormat, showFirst, showPart } from "./incremental-format.ts";

/** The parts of a result in the form that clients see, from the first on. `return()` ends the work on them. */
export class IncrementalResults extends ReleasingIterator<ExecutionResult> {
  readonly #result: ResultInParts;
  readonly #format: IncrementalFormat;
  #hasBegun = false;

  constructor(result: ResultInParts, format: IncrementalFormat) {
    super();
    this.#result = result;
    this.#format = format;
  }

  async next(): Promise<IteratorResult<ExecutionResult>> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return { done: false, value: showFirst(this.#result, this.#format) };
    }
    const { done, value } = await this.#result.rest.next();
    return done ? { done, value: undefined } : { done: false, value: showPart(value, this.#format) };
  }

  protected release(): void {
    closeSource(this.#result.rest);
  }
}
