import { type DocumentNode, print } from "graphql";
import { ByteLru } from "../../../../src/kernel/byte-lru.ts";
import { oncePer } from "../../../../src/kernel/once-per.ts";
import { TransientMap } from "../../../../src/kernel/transient-map.ts";
import { isPromise, type MaybePromise } from "../subgraph-executor.ts";

/** A document has one or a few operations, each for a few kinds of callers. */
const MAX_VARIANTS = 64;

/** The memory limits of the cache: the number of operations, and the bytes of their text and plan. */
export type PlanCacheOptions<T> = {
  readonly maxEntries: number;
  readonly maxBytes?: number;
  /** The size of a value, in addition to its key text. */
  readonly bytesOf?: (value: T) => number;
};

const MAX_BYTES = 12 * 1_048_576;

/**
 * Caches compiled operations. A document object seen before is found by identity; an equal one by its printed text. At
 * most `maxEntries` texts are kept, and those that are not read are evicted first. Once the cache is an eighth full, it
 * keeps an operation only when it occurs for the second time: an operation that never recurs would become old garbage,
 * which is expensive to collect.
 */
export class PlanCache<T> {
  readonly #textsOf = oncePer((_: DocumentNode) => new Map<string, string>());
  /** Operations that are being compiled. */
  readonly #making = new TransientMap<string, Promise<T>>();
  readonly #made: ByteLru<{ readonly value: T }>;
  readonly #bytesOf: (value: T) => number;

  constructor({ bytesOf = () => 0, maxBytes = MAX_BYTES, maxEntries }: PlanCacheOptions<T>) {
    this.#made = new ByteLru({ maxBytes, maxEntries, isSelective: true });
    this.#bytesOf = bytesOf;
  }

  /** Returns the value of a document and `variant`, or makes it: once, also for concurrent calls. */
  get(document: DocumentNode, variant: string, make: () => MaybePromise<T>): MaybePromise<T> {
    const text = this.#textOf(document, variant);
    const known = this.#made.get(text);
    if (known) return known.value;
    const making = this.#making.get(text);
    if (making) return making;
    const made = make();
    if (!isPromise(made)) {
      this.#keep(text, made);
      return made;
    }
    this.#making.set(text, made);
    made.then(
      (value) => {
        this.#making.delete(text);
        this.#keep(text, value);
      },
      () => this.#making.delete(text),
    );
    return made;
  }

  /** The document object caches its text but not its value, so that evicted values are freed. */
  #textOf(document: DocumentNode, variant: string): string {
    const variants = this.#textsOf(document);
    const known = variants.get(variant);
    if (known !== undefined) return known;
    // Joined, and not concatenated: V8 keeps every piece of a concatenated text.
    const text = [variant, print(document)].join("\n");
    if (variants.size >= MAX_VARIANTS) variants.clear();
    variants.set(variant, text);
    return text;
  }

  #keep(text: string, value: T): void {
    this.#made.set(text, { value }, text.length + this.#bytesOf(value));
  }
}
