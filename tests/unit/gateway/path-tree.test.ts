import fc from "fast-check";
import { GraphQLError } from "graphql";
import { expect, test } from "vitest";
import { PathTree } from "../../../gateway/federation/engine/path-tree.ts";
import { Explanations, explain } from "../../../gateway/federation/engine/violations.ts";

const PATH = fc.array(fc.oneof(fc.constantFrom("a", "b"), fc.integer({ min: 0, max: 2 })), { maxLength: 4 });
type Path = readonly (string | number)[];
const isPrefix = (first: Path, second: Path) => first.every((key, at) => second[at] === key);

test("a tree finds the places above and below another one as a comparison with each does", () => {
  fc.assert(
    fc.property(fc.array(PATH, { maxLength: 8 }), PATH, (places, path) => {
      const tree = new PathTree(places);
      const isAbove = places.some((place) => isPrefix(place, path));
      expect(tree.hasAbove(path)).toBe(isAbove);
      expect(tree.hasOnBranch(path)).toBe(isAbove || places.some((place) => isPrefix(path, place)));
    }),
  );
});

test("the nulls of a long list are explained without comparing each with every error", () => {
  const count = 2_000;
  let reads = 0;
  const counted = (path: Path): Path =>
    new Proxy(path, {
      get(target, key) {
        reads += 1;
        return Reflect.get(target, key);
      },
    });
  const paths = Array.from({ length: count }, (_, at) => ["items", at, "name"]);
  const errors = paths.map((path) => new GraphQLError("away", { path: counted(path) }));
  // Half of the nulls are explained by errors, the others by objects that their subgraph set to null.
  const nulled = paths.map(([, at]) => counted(["others", at ?? 0]));
  const violations = [...paths, ...paths.map(([, at]) => ["others", at ?? 0, "name"])].map((path) => ({
    ...{ path, message: "null" },
  }));
  const explanations = [new Explanations({ errors, nulled })];
  expect(explain(violations, { explanations, reportViolations: () => {} })).toEqual([]);
  expect(reads).toBeLessThan(50 * count);
});
