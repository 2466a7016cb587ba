import { type DocumentNode, print } from "graphql";
import { ByteLru } from "../../src/kernel/byte-lru.ts";
import { isPromise, type MaybePromise } from "./subgraph-executor.ts";

const MAX_BYTES = 64 * 1_048_576;
/** A compiled plan takes about so many bytes for each character of its operation. */
const BYTES_PER_CHARACTER = 40;
/** A document has an operation or a few, each for a few kinds of callers. */
const MOST_VARIANTS = 64;

/**
 * Keeps what is compiled for an operation. A document that was seen before is found by its identity; one that only
 * reads the same, by its printed text, of which at most `limit` are kept, in 64 MiB by estimate.
 */
export class PlanCache<T> {
  readonly #byDocument = new WeakMap<DocumentNode, Map<string, T>>();
  readonly #byText: ByteLru<MaybePromise<T>>;

  constructor(limit: number) {
    this.#byText = new ByteLru({ maxEntries: limit, maxBytes: MAX_BYTES });
  }

  /** Of a document several things are kept, by `variant`. Answers from the cache, or makes the value: once, also when many ask for it at the same time. */
  get(document: DocumentNode, variant: string, make: () => MaybePromise<T>): MaybePromise<T> {
    const known = this.#byDocument.get(document)?.get(variant);
    if (known !== undefined) return known;
    const text = `${variant}\n${print(document)}`;
    const made = this.#byText.get(text) ?? this.#make(text, make);
    if (!isPromise(made)) return this.#remember(document, variant, made);
    return made.then((value) => this.#remember(document, variant, value));
  }

  #make(text: string, make: () => MaybePromise<T>): MaybePromise<T> {
    const made = make();
    const sizeBytes = text.length * BYTES_PER_CHARACTER;
    this.#byText.set(text, made, sizeBytes);
    if (isPromise(made)) {
      made.then(
        (value) => this.#byText.set(text, value, sizeBytes),
        () => this.#byText.delete(text),
      );
    }
    return made;
  }

  #remember(document: DocumentNode, variant: string, value: T): T {
    const variants = this.#byDocument.get(document) ?? new Map<string, T>();
    if (variants.size >= MOST_VARIANTS) variants.clear();
    this.#byDocument.set(document, variants.set(variant, value));
    return value;
  }
}
