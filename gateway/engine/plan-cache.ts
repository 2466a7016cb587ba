import { type DocumentNode, print } from "graphql";
import QuickLRU from "quick-lru";
import { isPromise, type MaybePromise } from "./subgraph-executor.ts";

/**
 * Keeps what is compiled for an operation. A document that was seen before is found by its identity; one that only
 * reads the same, by its printed text, of which at most about twice `limit` are kept.
 */
export class PlanCache<T> {
  readonly #byDocument = new WeakMap<DocumentNode, Map<string | null, T>>();
  readonly #byText: QuickLRU<string, MaybePromise<T>>;

  constructor(limit: number) {
    this.#byText = new QuickLRU({ maxSize: limit });
  }

  /** Answers from the cache, or makes the value: once, also when many ask for it at the same time. */
  get(document: DocumentNode, operationName: string | null, make: () => MaybePromise<T>): MaybePromise<T> {
    const known = this.#byDocument.get(document)?.get(operationName);
    if (known !== undefined) return known;
    const text = `${operationName ?? ""}\n${print(document)}`;
    const made = this.#byText.get(text) ?? this.#make(text, make);
    if (!isPromise(made)) return this.#remember(document, operationName, made);
    return made.then((value) => this.#remember(document, operationName, value));
  }

  #make(text: string, make: () => MaybePromise<T>): MaybePromise<T> {
    const made = make();
    this.#byText.set(text, made);
    if (isPromise(made)) {
      made.then(
        (value) => this.#byText.set(text, value),
        () => this.#byText.delete(text),
      );
    }
    return made;
  }

  #remember(document: DocumentNode, operationName: string | null, value: T): T {
    const names = this.#byDocument.get(document) ?? new Map<string | null, T>();
    this.#byDocument.set(document, names.set(operationName, value));
    return value;
  }
}
