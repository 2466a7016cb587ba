import { type DocumentNode, print } from "graphql";
import { isPromise, type MaybePromise } from "../subgraph-executor.ts";

/** A document has one or a few operations, each for a few kinds of callers. */
const MAX_VARIANTS = 64;

/** The memory limits of the cache: the number of operations, and the characters of their text and plan. */
export type PlanCacheOptions<T> = {
  readonly maxEntries: number;
  readonly maxCharacters?: number;
  /** The size of a value, in addition to its key text. */
  readonly charactersOf?: (value: T) => number;
};

/** A compiled operation takes about ten bytes for each of these characters. */
const MAX_CHARACTERS = 16_777_216;

/**
 * Caches compiled operations. A document object seen before is found by identity; an equal one by its printed text.
 * At most `maxEntries` texts are kept, and the least recently used is evicted first.
 */
export class PlanCache<T> {
  readonly #texts = new WeakMap<DocumentNode, Map<string, string>>();
  readonly #byText = new Map<string, { readonly value: MaybePromise<T>; readonly characters: number }>();
  readonly #options: Required<PlanCacheOptions<T>>;
  #characters = 0;

  constructor(options: PlanCacheOptions<T>) {
    this.#options = { maxCharacters: MAX_CHARACTERS, charactersOf: () => 0, ...options };
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
        (value) => this.#store(text, value, this.#options.charactersOf(value)),
        () => this.#forget(text),
      );
    } else this.#store(text, made, this.#options.charactersOf(made));
    return made;
  }

  /** The document object caches its text but not its value, so that evicted values are freed. */
  #textOf(document: DocumentNode, variant: string): string {
    const variants = this.#texts.get(document) ?? new Map<string, string>();
    const known = variants.get(variant);
    if (known !== undefined) return known;
    const text = `${variant}\n${print(document)}`;
    if (variants.size >= MAX_VARIANTS) variants.clear();
    this.#texts.set(document, variants.set(variant, text));
    return text;
  }

  #store(text: string, value: MaybePromise<T>, valueCharacters: number): void {
    this.#forget(text);
    const characters = text.length + valueCharacters;
    this.#byText.set(text, { value, characters });
    this.#characters += characters;
    const { maxEntries, maxCharacters } = this.#options;
    for (const oldest of this.#byText.keys()) {
      if (this.#byText.size <= maxEntries && this.#characters <= maxCharacters) return;
      if (oldest !== text) this.#forget(oldest);
    }
  }

  #forget(text: string): void {
    this.#characters -= this.#byText.get(text)?.characters ?? 0;
    this.#byText.delete(text);
  }
}
