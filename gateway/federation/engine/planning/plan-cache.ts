import { type DocumentNode, print } from "graphql";
import { isPromise, type MaybePromise } from "../subgraph-executor.ts";

/** A document has an operation or a few, each for a few kinds of callers. */
const MAX_VARIANTS = 64;

/** What operations may hold in memory: how many, and how many characters of text and plan. */
export type PlanCacheOptions<T> = {
  readonly maxEntries: number;
  readonly maxCharacters?: number;
  /** Of a value, beside the text that it is found by. */
  readonly charactersOf?: (value: T) => number;
};

/** Compiled, an operation takes some ten bytes for each of these. */
const MAX_CHARACTERS = 16_777_216;

/**
 * Keeps what is compiled for an operation. A document that was seen before is found by its identity; one that only
 * reads the same, by its printed text, of which at most `maxEntries` are kept: those that were not used for longest go first.
 */
export class PlanCache<T> {
  readonly #texts = new WeakMap<DocumentNode, Map<string, string>>();
  readonly #byText = new Map<string, { readonly value: MaybePromise<T>; readonly characters: number }>();
  readonly #options: Required<PlanCacheOptions<T>>;
  #characters = 0;

  constructor(options: PlanCacheOptions<T>) {
    this.#options = { maxCharacters: MAX_CHARACTERS, charactersOf: () => 0, ...options };
  }

  /** Of a document several things are kept, by `variant`. Answers from the cache, or makes the value: once, also when many ask for it at the same time. */
  get(document: DocumentNode, variant: string, make: () => MaybePromise<T>): MaybePromise<T> {
    const text = this.#textOf(document, variant);
    const known = this.#byText.get(text);
    if (known) {
      // The last one used is the last to go.
      this.#byText.delete(text);
      this.#byText.set(text, known);
      return known.value;
    }
    const made = make();
    this.#keep(text, made, 0);
    if (isPromise(made)) {
      made.then(
        (value) => this.#keep(text, value, this.#options.charactersOf(value)),
        () => this.#forget(text),
      );
    } else this.#keep(text, made, this.#options.charactersOf(made));
    return made;
  }

  /** The text is remembered by the document, the value is not: what is forgotten is gone. */
  #textOf(document: DocumentNode, variant: string): string {
    const variants = this.#texts.get(document) ?? new Map<string, string>();
    const known = variants.get(variant);
    if (known !== undefined) return known;
    const text = `${variant}\n${print(document)}`;
    if (variants.size >= MAX_VARIANTS) variants.clear();
    this.#texts.set(document, variants.set(variant, text));
    return text;
  }

  #keep(text: string, value: MaybePromise<T>, valueCharacters: number): void {
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
