import { GraphQLError, type InlineFragmentNode, Kind } from "graphql";
import { expect, onTestFinished, test } from "vitest";
import type { Postponed } from "../../../gateway/federation/engine/completion.ts";
import type { Execution } from "../../../gateway/federation/engine/execution.ts";
import { LaterParts } from "../../../gateway/federation/engine/incremental/answer.ts";
import { LaterErrors } from "../../../gateway/federation/engine/incremental/later-errors.ts";
import type { Part } from "../../../gateway/federation/engine/incremental/parts.ts";

const COUNT = 900;
const FRAGMENT: InlineFragmentNode = {
  kind: Kind.INLINE_FRAGMENT,
  selectionSet: { kind: Kind.SELECTION_SET, selections: [] },
};
type Path = (string | number)[];
const PATHS = Array.from({ length: COUNT }, (_, at): Path => ["people", at]);
const EXECUTION: Execution<undefined> = {
  ...{ context: undefined, signal: undefined, variables: {}, data: {}, errors: [], nulled: [] },
  ...{ isBroken: () => false, reportViolations: () => {} },
};

/** A fragment on each item of a list, of which none can be completed. */
const POSTPONED = PATHS.map(
  (path): Postponed => ({
    ...{ kind: "fragment", fragment: FRAGMENT, path, label: undefined },
    project: ({ violations }) => {
      violations.push({ path: [...path, "name"], message: "null" });
      return null;
    },
  }),
);

async function read(failures: {
  readonly errors: readonly GraphQLError[];
  readonly nulled: readonly Path[];
}) {
  const stage = { run: () => {}, failuresIn: () => failures };
  const later = new LaterParts(EXECUTION, new Map([[FRAGMENT, stage]]), {
    ...{ postponed: POSTPONED, errors: new LaterErrors([]), stop: () => {} },
  });
  const parts: Part[] = [];
  for await (const part of later) parts.push(part);
  return parts;
}

test("fragments without data are delivered in parts of limited size, each with its error", async () => {
  const errors = PATHS.map((path) => new GraphQLError("away", { path }));
  const parts = await read({ errors, nulled: PATHS });
  expect(parts.map(({ completed }) => completed.length)).toEqual(Array.from({ length: 9 }, () => 100));
  expect(parts.map(({ hasNext }) => hasNext).lastIndexOf(true)).toBe(7);
  expect(parts.flatMap(({ completed }) => completed.map((one) => one.errors))).toEqual(
    errors.map((error) => [error]),
  );
});

test("the failures of many fragments are read once, not for each of them", async () => {
  let reads = 0;
  const nulled = PATHS.map(
    (path) =>
      new Proxy(path, {
        get(target, key) {
          reads += 1;
          return Reflect.get(target, key);
        },
      }),
  );
  await read({ errors: [], nulled });
  expect(reads).toBeLessThan(50 * COUNT);
});

test("a stage that fails while no part is read ends the parts, and not the process", async () => {
  const unhandled: unknown[] = [];
  const record = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", record);
  onTestFinished(() => void process.off("unhandledRejection", record));
  const failing = Promise.withResolvers<void>();
  const stage = { run: () => failing.promise, failuresIn: () => ({ errors: [], nulled: [] }) };
  const stages = new Map([[FRAGMENT, stage]]);
  const [label, at] = [undefined, 0];
  const postponed: Postponed[] = [
    { kind: "list", path: ["items"], label, items: [1], at, complete: (value) => value },
    { kind: "fragment", fragment: FRAGMENT, path: [], label, project: () => ({ done: true }) },
  ];
  const given = { postponed, errors: new LaterErrors([]), stop: () => {} };
  const later = new LaterParts(EXECUTION, stages, given);
  expect((await later.next()).value.delivered).toHaveLength(1);
  failing.reject(new Error("a bug"));
  await new Promise(setImmediate);
  expect(unhandled).toEqual([]);
  await expect(later.next()).rejects.toThrow("a bug");
});
