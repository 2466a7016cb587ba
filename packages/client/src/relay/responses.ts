import type { DeliveredPart, ResultPart } from "../core/result-parts.ts";
import { includedFragments, type LabelledData } from "./included-fragments.ts";

type Path = readonly (string | number)[];

/** A response as relay-runtime reads it: of the whole operation, or with `label` and `path` of a fragment or an item. */
export type RelayResponse = {
  readonly data?: unknown;
  readonly errors?: readonly object[];
  readonly label?: string;
  readonly path?: Path;
};

/**
 * Writes the parts of one result as relay-runtime reads them. Relay waits for each fragment with `@defer`, while a
 * server may deliver fragments with what is around them: those become responses of their own here. Of lists with
 * `@stream` it takes as many items as there are.
 */
export class RelayResponses {
  readonly #included: ReturnType<typeof includedFragments>;
  readonly #places = new Map<string, { readonly label: string; readonly path: Path }>();
  /** The labels and paths of what is delivered later. */
  readonly #pending = new Set<string>();

  /** For the text of an operation. */
  constructor(query: string) {
    this.#included = includedFragments(query);
  }

  /** The responses of the next part. */
  of({ data, errors, pending = [], incremental = [], completed = [] }: ResultPart): readonly RelayResponse[] {
    for (const { id, path, label = "" } of pending) {
      this.#places.set(id, { label, path });
      this.#pending.add(keyOf(label, path));
    }
    const responses: RelayResponse[] = [];
    if (data !== undefined || errors) {
      responses.push({ data, ...(errors && { errors }) });
      responses.push(...this.#fragmentsIn({ data, path: [] }));
    }
    for (const part of incremental) responses.push(...this.#ofPart(part));
    for (const { id, errors: failures } of completed)
      if (failures) responses.push({ data: null, errors: failures, ...this.#places.get(id) });
    return responses;
  }

  *#ofPart({ label = "", path, data, items = [], errors }: DeliveredPart): Iterable<RelayResponse> {
    const failures = errors && { errors };
    if (data) {
      yield { data, label, path, ...failures };
      yield* this.#fragmentsIn({ data, path, label });
    }
    const from = Number(path.at(-1));
    for (const [n, item] of items.entries()) {
      // Relay takes data that is null for a failed operation.
      if (item === null) continue;
      const place = [...path.slice(0, -1), from + n];
      yield { data: item, label, path: place, ...failures };
      yield* this.#fragmentsIn({ data: item, path: place, label });
    }
  }

  #fragmentsIn(data: LabelledData): Iterable<RelayResponse> {
    return this.#included(data, (label, path) => this.#pending.has(keyOf(label, path)));
  }
}

function keyOf(label: string, path: Path): string {
  return JSON.stringify([label, path]);
}
