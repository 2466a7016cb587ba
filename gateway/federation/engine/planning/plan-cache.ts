import { type DocumentNode, print } from "graphql";
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

const MAX_BYTES = 24 * 1_048_576;

/**
 * Caches compiled operations. A document object seen before is found by identity; an equal one by its printed text.
 * At most `maxEntries` texts are kept, and the least recently used is evicted first.
 */
export class PlanCache<T> {
  readonly #texts = new WeakMap<DocumentNode, Map<string, string>>();
  readonly #byText = new Map<string, { readonly value: MaybePromise<T>; readonly sizeBytes: number }>();
  readonly #options: Required<PlanCacheOptions<T>>;
  #sizeBytes = 0;

  constructor(options: PlanCacheOptions<T>) {
    this.#options = { maxBytes: MAX_BYTES, bytesOf: () => 0, ...options };
  }

  /** Returns the value of a document and `variant`, or makes it: once, also for concurrent calls. */
  get(document: DocumentNode, variant: string, make: () => MaybePromise<T>): MaybePromise<T> {
    const text = this.#textOf(document, variant);
    const known = this.#byText.get(text);
    if (known) {
      // The most recently used entry is evicted last.
      this.#byText.delete(text);
      this.#byText.set(text, known);
      return known.value;
    }
    const made = make();
    this.#store(text, made, 0);
    if (isPromise(made)) {
      made.then(
        (value) => this.#store(text, value, this.#options.bytesOf(value)),
        () => this.#forget(text),
      );
    } else this.#store(text, made, this.#options.bytesOf(made));
    return made;
  }

  /** The document object caches its text but not its value, so that evicted values are freed. */
  #textOf(document: DocumentNode, variant: string): string {
    const variants = this.#texts.get(document) ?? new Map<string, string>();
    const known = variants.get(variant);
    if (known !== undefined) return known;
    // Joined, and not concatenated: V8 keeps every piece of a concatenated text.
    const text = [variant, print(document)].join("\n");
    if (variants.size >= MAX_VARIANTS) variants.clear();
    this.#texts.set(document, variants.set(variant, text));
    return text;
  }

  #store(text: string, value: MaybePromise<T>, valueBytes: number): void {
    this.#forget(text);
    const sizeBytes = text.length + valueBytes;
    this.#byText.set(text, { value, sizeBytes });
    this.#sizeBytes += sizeBytes;
    const { maxEntries, maxBytes } = this.#options;
    for (const oldest of this.#byText.keys()) {
      if (this.#byText.size <= maxEntries && this.#sizeBytes <= maxBytes) return;
      if (oldest !== text) this.#forget(oldest);
    }
  }

  #forget(text: string): void {
    this.#sizeBytes -= this.#byText.get(text)?.sizeBytes ?? 0;
    this.#byText.delete(text);
  }
}
