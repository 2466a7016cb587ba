import fc from "fast-check";
import { GraphQLError } from "graphql";
import { expect, test } from "vitest";
import { PathTree } from "../../../gateway/federation/engine/path-tree.ts";
import { explain } from "../../../gateway/federation/engine/violations.ts";

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

test("ten times as many nulls of a list take about ten times as long to explain", () => {
  const explained = (count: number) => {
    const paths = Array.from({ length: count }, (_, at) => ["items", at, "name"]);
    const errors = paths.map((path) => new GraphQLError("away", { path }));
    const violations = paths.map((path) => ({ path, message: "null" }));
    const sinceUs = process.cpuUsage().user;
    const found = explain(violations, { errors, nulled: paths, reportViolations: () => {} });
    expect(found).toEqual([]);
    return process.cpuUsage().user - sinceUs;
  };
  explained(1_000);
  const [few, many] = [explained(2_000), explained(20_000)];
  expect(many).toBeLessThan(40 * Math.max(few, 2_000));
});
