import type { GraphQLError } from "graphql";
import type { ResponsePath } from "../subgraph-executor.ts";

/** A place of the result: its errors, how many fragments and lists there are still to be delivered, and what is below. */
type Place = {
  readonly errors: GraphQLError[];
  pending: number;
  readonly below: Map<string | number, Place>;
};

/**
 * The errors of a result in parts. An error may be found before its part is delivered, as a request fetches for several
 * fragments and for whole lists. It is held until then; that of a fragment which is never delivered is not reported.
 * Errors are found by their place, so a long list with many errors does not take quadratic time.
 */
export class LaterErrors {
  readonly #root = newPlace();
  readonly #known = new Set<GraphQLError>();
  readonly #reported = new Set<GraphQLError>();

  constructor(errors: readonly GraphQLError[]) {
    this.add(errors);
  }

  /** Adds errors that were found; those without a path belong to no place, and are not held. */
  add(errors: readonly GraphQLError[]): void {
    for (const error of errors) {
      if (!error.path || this.#known.has(error)) continue;
      this.#known.add(error);
      this.#at(error.path).errors.push(error);
    }
  }

  /** A fragment or a list at this path is announced. */
  open(path: Readonly<ResponsePath>): void {
    this.#at(path).pending++;
  }

  /** It is delivered, and reports its errors next. */
  close(path: Readonly<ResponsePath>): void {
    this.#at(path).pending--;
  }

  /**
   * The errors at a place and below it which belong to what is delivered there, and those that no later part can report.
   */
  take(path: Readonly<ResponsePath>, belongs: (error: GraphQLError) => boolean): readonly GraphQLError[] {
    const taken = errorsIn(this.#at(path)).filter(
      (error) => belongs(error) || !(this.#reported.has(error) || this.#isAwaited(error)),
    );
    for (const error of taken) this.#reported.add(error);
    return taken;
  }

  /** Those of errors without a path that were not reported yet. */
  takeUnplaced(errors: readonly GraphQLError[]): readonly GraphQLError[] {
    const taken = errors.filter((error) => !this.#reported.has(error));
    for (const error of taken) this.#reported.add(error);
    return taken;
  }

  #isAwaited({ path = [] }: GraphQLError): boolean {
    let place: Place | undefined = this.#root;
    for (const key of path) {
      if (!place) return false;
      if (place.pending > 0) return true;
      place = place.below.get(key);
    }
    return false;
  }

  #at(path: Readonly<ResponsePath>): Place {
    let place = this.#root;
    for (const key of path) {
      const next = place.below.get(key) ?? newPlace();
      place.below.set(key, next);
      place = next;
    }
    return place;
  }
}

/** Whether the field with an error is in data, or within a null there; `depth` keys of its path lead to the data. */
export function isErrorOf(data: unknown, { path = [] }: GraphQLError, depth: number): boolean {
  let at = data;
  for (const key of path.slice(depth)) {
    if (typeof at !== "object" || at === null) return true;
    if (!Object.hasOwn(at, key)) return false;
    at = (at as Readonly<Record<string | number, unknown>>)[key];
  }
  return true;
}

function newPlace(): Place {
  return { errors: [], pending: 0, below: new Map() };
}

function errorsIn({ errors, below }: Place): readonly GraphQLError[] {
  return [...errors, ...[...below.values()].flatMap(errorsIn)];
}
