import { GraphQLError, type InlineFragmentNode } from "graphql";
import { DONE, ReleasingIterator } from "../../../../src/kernel/async/releasing-iterator.ts";
import { BROKEN, type Postponed, type Projection } from "../completion.ts";
import type { Execution } from "../execution.ts";
import { PathTree } from "../path-tree.ts";
import type { ResponsePath } from "../subgraph-executor.ts";
import { Explanations, explain, type Violation } from "../violations.ts";
import { isErrorOf, type LaterErrors } from "./later-errors.ts";
import type { LaterStage } from "./later-stages.ts";
import type { Completed, Delivery, Part, Pending } from "./parts.ts";
import { isReached } from "./postponed.ts";

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
/** The failures of the requests of a fragment, which many objects may have. */
type Failures = {
  readonly errors: ReadonlySet<GraphQLError>;
  /** Those that name no place. */
  readonly unplaced: readonly GraphQLError[];
  readonly explanations: Explanations;
};
const NONE = toFailures({ errors: [], nulled: [] });

/**
 * The parts of a response after the first. The requests of a fragment are sent when the first part is read, or when
 * the fragment around it is delivered; a part is completed when it is read. `return()` settles a pending `next()` and
 * calls `stop`, which aborts the requests.
 */
export class LaterParts<C> extends ReleasingIterator<Part> {
  /** What the first part announces. */
  readonly pending: readonly Pending[];
  readonly #execution: Execution<C>;
  /** The nulls that the requests of the first part explain. */
  #explained: Explanations | undefined;
  readonly #stages: ReadonlyMap<InlineFragmentNode, LaterStage<C>>;
  readonly #stop: () => void;
  /** Fragments whose requests have not run, by node: one for each object. */
  readonly #waiting = new Map<InlineFragmentNode, Fragment[]>();
  readonly #running = new Map<InlineFragmentNode, Promise<InlineFragmentNode>>();
  readonly #ended = Promise.withResolvers<undefined>();
  /** What can be delivered. */
  #ready: (Fragment | List)[] = [];
  readonly #errors: LaterErrors;
  /** Of the requests of fragments that have run. */
  readonly #failures = new Map<InlineFragmentNode, Failures>();
  #count = 0;
  #isComplete = false;

  constructor(
    execution: Execution<C>,
    stages: ReadonlyMap<InlineFragmentNode, LaterStage<C>>,
    given: {
      readonly postponed: readonly Postponed[];
      /** Those of what is postponed, as far as the requests of the first part found them. */
      readonly errors: LaterErrors;
      readonly stop: () => void;
    },
  ) {
    super();
    this.#errors = given.errors;
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
      this.#errors.open(path);
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
      const done = running.then(() => fragment);
      // The next reader gets the error of one that fails while no part is read.
      done.catch(() => {});
      this.#running.set(fragment, done);
    }
  }

  #settle(fragment: InlineFragmentNode): void {
    this.#running.delete(fragment);
    const failures = this.#stages.get(fragment)?.failuresIn(this.#execution);
    if (failures) {
      this.#failures.set(fragment, toFailures(failures));
      this.#errors.add(failures.errors);
    }
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
      const entries = Math.max(part.delivered.length, part.completed.length);
      if (part.characters >= MAX_CHARACTERS || entries >= MAX_ENTRIES) break;
    }
    this.#ready.unshift(...queue);
    this.#isComplete = this.#ready.length === 0 && this.#running.size === 0 && this.#waiting.size === 0;
    const { pending, delivered, completed } = part;
    return { pending, delivered, completed, hasNext: !this.#isComplete };
  }

  #deliverFragment(one: Fragment, part: Writable): undefined {
    const { id, path, label, fragment } = one;
    const failures = this.#failures.get(fragment) ?? NONE;
    const { run, postponed, violations } = this.#projection(path);
    const data = one.project(run);
    this.#errors.close(path);
    const reached = data ? postponed.filter((inner) => isReached(data, inner.path.slice(path.length))) : [];
    part.pending.push(...this.#announce(reached));
    const violated = new PathTree(violations.map((one) => one.path));
    // Without data, the errors at, above or below a violation explain it.
    const belongs = (error: GraphQLError) =>
      data
        ? isErrorOf(data, error, path.length)
        : failures.errors.has(error) || (error.path !== undefined && violated.hasOnBranch(error.path));
    const errors = [
      ...this.#errors.takeUnplaced(failures.unplaced),
      ...this.#errors.take(path, belongs),
      ...this.#explain(violations, failures),
    ];
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
      const isOfItem = (error: GraphQLError) => item === BROKEN || isErrorOf(item, error, path.length + 1);
      const found = [...this.#errors.take([...path, at], isOfItem), ...this.#explain(violations, NONE)];
      if (item === BROKEN) {
        this.#errors.close(path);
        this.#deliver({ id, path, label, at: list.at }, { items: delivered, errors }, part);
        part.completed.push({ id, path, label, at, errors: found.length > 0 ? found : [incomplete(path)] });
        return undefined;
      }
      errors.push(...found);
      delivered.push(item);
      part.characters += JSON.stringify(item).length;
      const reached = postponed.filter((inner) => isReached(item, inner.path.slice(path.length + 1)));
      part.pending.push(...this.#announce(reached));
    }
    this.#deliver({ id, path, label, at: list.at }, { items: delivered, errors }, part);
    if (at < items.length) return { ...list, at };
    this.#errors.close(path);
    part.completed.push({ id, path, label });
    return undefined;
  }

  #deliver(
    place: Pending & { readonly at: number },
    { items, errors }: { readonly items: readonly unknown[]; readonly errors: readonly GraphQLError[] },
    part: Writable,
  ): void {
    if (items.length > 0) part.delivered.push({ kind: "list", ...place, items, errors });
  }

  #projection(path: ResponsePath) {
    const postponed: Postponed[] = [];
    const violations: Violation[] = [];
    const { variables } = this.#execution;
    const run: Projection = { variables, path: [...path], violations, postponed };
    return { run, postponed, violations };
  }

  #explain(violations: readonly Violation[], { explanations }: Failures): readonly GraphQLError[] {
    if (violations.length === 0) return [];
    const { reportViolations } = this.#execution;
    this.#explained ??= new Explanations(this.#execution);
    return explain(violations, { explanations: [this.#explained, explanations], reportViolations });
  }
}

function toFailures(found: ReturnType<LaterStage<never>["failuresIn"]>): Failures {
  return {
    errors: new Set(found.errors),
    unplaced: found.errors.filter((error) => !error.path),
    explanations: new Explanations(found),
  };
}

function incomplete(path: ResponsePath): GraphQLError {
  const extensions = { code: "internal_error" };
  return new GraphQLError("This part of the result cannot be completed.", { path, extensions });
}
