import { GraphQLError, type InlineFragmentNode } from "graphql";
import { DONE, ReleasingIterator } from "../../../../src/kernel/async/releasing-iterator.ts";
import { BROKEN, type Postponed, type Projection } from "../completion.ts";
import type { Execution } from "../execution.ts";
import type { ResponsePath } from "../subgraph-executor.ts";
import { explain, explainsViolation, type Violation } from "../violations.ts";
import type { LaterStage } from "./later-stages.ts";
import type { Completed, Delivery, Part, Pending } from "./parts.ts";
import { explainsNull, isBelow, isReached } from "./postponed.ts";

/** The size of one part: entries, and characters of their data. One entry may be larger. */
const MAX_ENTRIES = 100;
const MAX_CHARACTERS = 262_144;

type Fragment = Pending & Extract<Postponed, { kind: "fragment" }>;
type List = Pending & Extract<Postponed, { kind: "list" }>;
type Writable = {
  readonly pending: Pending[];
  readonly delivered: Delivery[];
  readonly completed: Completed[];
  characters: number;
};
type Failures = ReturnType<LaterStage<never>["failuresIn"]>;

/**
 * The parts of a response after the first. The requests of a fragment are sent when the first part is read, or when
 * the fragment around it is delivered; a part is completed when it is read. `return()` settles a pending `next()` and
 * calls `stop`, which aborts the requests.
 */
export class LaterParts<C> extends ReleasingIterator<Part> {
  /** What the first part announces. */
  readonly pending: readonly Pending[];
  readonly #execution: Execution<C>;
  readonly #stages: ReadonlyMap<InlineFragmentNode, LaterStage<C>>;
  readonly #stop: () => void;
  /** Fragments whose requests have not run, by node: one for each object. */
  readonly #waiting = new Map<InlineFragmentNode, Fragment[]>();
  readonly #running = new Map<InlineFragmentNode, Promise<InlineFragmentNode>>();
  readonly #ended = Promise.withResolvers<undefined>();
  /** What can be delivered. */
  #ready: (Fragment | List)[] = [];
  /** How many fragments and lists are announced and not completed, by path. */
  readonly #places = new Map<string, number>();
  /** Errors that were found before the part that they belong to. */
  readonly #held: Set<GraphQLError>;
  readonly #reported = new Set<GraphQLError>();
  #count = 0;
  #isComplete = false;

  constructor(
    execution: Execution<C>,
    stages: ReadonlyMap<InlineFragmentNode, LaterStage<C>>,
    given: {
      readonly postponed: readonly Postponed[];
      /** The errors of what is postponed, where its data was fetched with the first part. */
      readonly errors: readonly GraphQLError[];
      readonly stop: () => void;
    },
  ) {
    super();
    this.#held = new Set(given.errors);
    this.#execution = execution;
    this.#stages = stages;
    this.#stop = given.stop;
    this.pending = this.#announce(given.postponed);
  }

  async next(): Promise<IteratorResult<Part>> {
    this.#start();
    while (this.#ready.length === 0 && this.#running.size > 0 && !this.isEnded) {
      const done = await Promise.race([...this.#running.values(), this.#ended.promise]);
      if (done) this.#settle(done);
    }
    if (this.isEnded) return DONE;
    if (this.#isComplete) {
      this.finish();
      return DONE;
    }
    return { done: false, value: this.#take() };
  }

  protected release(): void {
    this.#ready = [];
    this.#waiting.clear();
    this.#stop();
    this.#ended.resolve(undefined);
  }

  #announce(postponed: readonly Postponed[]): readonly Pending[] {
    return postponed.map((one) => {
      const { path, label } = one;
      const pending = { id: String(this.#count++), path, label };
      this.#open(path);
      if (one.kind === "list") this.#ready.push({ ...one, ...pending });
      else {
        const known = this.#waiting.get(one.fragment);
        if (known) known.push({ ...one, ...pending });
        else this.#waiting.set(one.fragment, [{ ...one, ...pending }]);
      }
      return pending;
    });
  }

  /** Sends the requests of the waiting fragments. */
  #start(): void {
    for (const fragment of this.#waiting.keys()) {
      if (this.#running.has(fragment)) continue;
      const running = Promise.resolve(this.#stages.get(fragment)?.run(this.#execution));
      this.#running.set(
        fragment,
        running.then(() => fragment),
      );
    }
  }

  #settle(fragment: InlineFragmentNode): void {
    this.#running.delete(fragment);
    this.#ready.push(...(this.#waiting.get(fragment) ?? []));
    this.#waiting.delete(fragment);
  }

  #take(): Part {
    const part: Writable = { pending: [], delivered: [], completed: [], characters: 0 };
    // What this part announces is delivered by a later one.
    const queue = this.#ready;
    this.#ready = [];
    for (let one = queue.shift(); one; one = queue.shift()) {
      const rest = one.kind === "fragment" ? this.#deliverFragment(one, part) : this.#deliverItems(one, part);
      if (rest) queue.unshift(rest);
      if (part.characters >= MAX_CHARACTERS || part.delivered.length >= MAX_ENTRIES) break;
    }
    this.#ready.unshift(...queue);
    this.#isComplete = this.#ready.length === 0 && this.#running.size === 0 && this.#waiting.size === 0;
    const { pending, delivered, completed } = part;
    return { pending, delivered, completed, hasNext: !this.#isComplete };
  }

  #deliverFragment(one: Fragment, part: Writable): undefined {
    const { id, path, label, fragment } = one;
    const failures = this.#stages.get(fragment)?.failuresIn(this.#execution) ?? { errors: [], nulled: [] };
    const { run, postponed, violations } = this.#projection(path);
    const data = one.project(run);
    this.#close(path);
    const reached = data ? postponed.filter((inner) => isReached(data, inner.path.slice(path.length))) : [];
    part.pending.push(...this.#announce(reached));
    const known = this.#takeErrors(path, failures.errors, (error) => {
      if (data) return explainsNull(error, data, path.length);
      return failures.errors.includes(error) || explainsViolation(error, violations);
    });
    const errors = [...known, ...this.#explain(violations, failures)];
    if (data === null) {
      part.completed.push({ id, path, label, errors: errors.length > 0 ? errors : [incomplete(path)] });
      return;
    }
    part.delivered.push({ kind: "fragment", id, path, label, data, errors });
    part.completed.push({ id, path, label });
    part.characters += JSON.stringify(data).length;
  }

  /** Delivers items until the list or the part is full; returns the rest of the list. */
  #deliverItems(list: List, part: Writable): List | undefined {
    const { id, path, label, items } = list;
    const delivered: unknown[] = [];
    const errors: GraphQLError[] = [];
    let at = list.at;
    for (; at < items.length && delivered.length < MAX_ENTRIES && part.characters < MAX_CHARACTERS; at++) {
      const { run, postponed, violations } = this.#projection(path);
      const item = list.complete(items[at], run, at);
      const found = this.#explain(violations, { errors: [], nulled: [] });
      if (item === BROKEN) {
        this.#deliverSome(list, { items: delivered, errors }, part);
        this.#close(path);
        const known = this.#takeErrors([...path, at], [], () => true);
        const all = [...known, ...found];
        part.completed.push({ id, path, label, at, errors: all.length > 0 ? all : [incomplete(path)] });
        return undefined;
      }
      errors.push(...found);
      delivered.push(item);
      part.characters += JSON.stringify(item).length;
      const reached = postponed.filter((inner) => isReached(item, inner.path.slice(path.length + 1)));
      part.pending.push(...this.#announce(reached));
    }
    this.#deliverSome(list, { items: delivered, errors }, part);
    if (at < items.length) return { ...list, at };
    this.#close(path);
    part.completed.push({ id, path, label });
    return undefined;
  }

  #deliverSome(
    { id, path, label, at }: List,
    { items, errors }: { readonly items: readonly unknown[]; readonly errors: readonly GraphQLError[] },
    part: Writable,
  ): void {
    if (items.length === 0) return;
    const known = this.#takeErrors(path, [], (error) => {
      const index = Number(error.path?.[path.length]) - at;
      return index in items && explainsNull(error, items[index], path.length + 1);
    });
    part.delivered.push({ kind: "list", id, path, label, at, items, errors: [...known, ...errors] });
  }

  #open(path: ResponsePath): void {
    const place = JSON.stringify(path);
    this.#places.set(place, 1 + (this.#places.get(place) ?? 0));
  }

  #close(path: ResponsePath): void {
    const place = JSON.stringify(path);
    const count = (this.#places.get(place) ?? 0) - 1;
    if (count > 0) this.#places.set(place, count);
    else this.#places.delete(place);
  }

  /**
   * Of the errors that were `found` now and of those held, those of a place that `belong` to what is delivered there,
   * and those that no later part could report; and those without a place, once. The others are held until their part is
   * delivered: of a fragment that never is, they are not reported.
   */
  #takeErrors(
    place: ResponsePath,
    found: readonly GraphQLError[],
    belongs: (error: GraphQLError) => boolean,
  ): readonly GraphQLError[] {
    const isAwaited = ({ path }: GraphQLError) =>
      path?.some((_, end) => this.#places.has(JSON.stringify(path.slice(0, end))));
    for (const error of found) this.#held.add(error);
    const own = [...this.#held].filter((error) => {
      if (!error.path) return !this.#reported.has(error);
      if (!isBelow(error, place)) return false;
      return belongs(error) || !(this.#reported.has(error) || isAwaited(error));
    });
    for (const error of own) this.#reported.add(error);
    return own;
  }

  #projection(path: ResponsePath) {
    const postponed: Postponed[] = [];
    const violations: Violation[] = [];
    const { variables } = this.#execution;
    const run: Projection = { variables, path: [...path], violations, postponed };
    return { run, postponed, violations };
  }

  #explain(violations: readonly Violation[], { errors, nulled }: Failures): readonly GraphQLError[] {
    if (violations.length === 0) return [];
    const before = this.#execution;
    return explain(violations, [...before.errors, ...errors], [...before.nulled, ...nulled]);
  }
}

function incomplete(path: ResponsePath): GraphQLError {
  const extensions = { code: "internal_error" };
  return new GraphQLError("This part of the result cannot be completed.", { path, extensions });
}
