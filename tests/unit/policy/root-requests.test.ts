import { parse } from "graphql";
import { describe, expect, test } from "vitest";
import { requestsOf, rootFields } from "../../../subgraphs/shared/schema/root-requests.ts";

function readOperation(text: string) {
  const document = parse(text);
  const [operation] = document.definitions.flatMap((one) =>
    one.kind === "OperationDefinition" ? [one] : [],
  );
  if (!operation) throw new Error("the document has an operation");
  return { document, operation };
}

function requests(text: string): number {
  const { document, operation } = readOperation(text);
  return requestsOf(document, operation);
}

describe("an operation counts as", () => {
  test.each([
    ["one request if it is a query", "{ a b c }", 1],
    ["one if it is a subscription", "subscription { a }", 1],
    ["as many as a mutation has fields", "mutation { a b }", 2],
    ["one for each alias", "mutation { x: a y: a z: a }", 3],
    ["one for each response key, however often it is written", "mutation { a a { id } ... { a } }", 1],
    ["one for a mutation without work", "mutation { __typename }", 1],
    ["none for the type name beside other fields", "mutation { __typename t: __typename a b }", 2],
    ["one for a field whose name ends in underscores", "mutation { a__ b__ }", 2],
    [
      "one for each field of its fragments",
      "mutation { ...f a } fragment f on M { b ... on M { c } ...g } fragment g on M { d }",
      4,
    ],
    ["only its own root fields", "mutation { a { b c } }", 1],
    ["nothing for a fragment that does not exist", "mutation { a ...none b }", 2],
  ])("%s", (_what, text, count) => {
    expect(requests(text)).toBe(count);
  });
});

test("root fields have their names by response key", () => {
  const { document, operation } = readOperation("{ x: a ...f ... { b } } fragment f on Q { y: c ...f }");
  expect([...rootFields(document, operation)]).toEqual([
    ["x", "a"],
    ["y", "c"],
    ["b", "b"],
  ]);
});
