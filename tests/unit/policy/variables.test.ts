import { buildSchema, type OperationDefinitionNode, parse } from "graphql";
import { expect, test } from "vitest";
import { findVariableFaults } from "../../../gateway/federation/policy/variables.ts";

const schema = buildSchema(`
  type Query { a(input: Input, kind: Kind, flag: Boolean, count: Int, ratio: Float, id: ID, text: String): Int }
  enum Kind { FIRST SECOND }
  input Input { name: String!, kind: Kind, parts: [Part!] }
  input Part { role: Kind! }
`);

function faultOf(type: string, value: unknown) {
  const { definitions } = parse(`query ($v: ${type}) { a }`);
  const options = { hidesNames: false, fieldOf: () => undefined };
  const [found] = findVariableFaults(
    schema,
    definitions[0] as OperationDefinitionNode,
    { v: value },
    options,
  );
  return found && { message: found.message, param: found.extensions.param };
}

const SECRET = "hunter2: a secret, of 'many' \"signs\"\nand lines.";
test.each([
  ["Boolean", SECRET],
  ["Int", SECRET],
  ["Int", { a: SECRET }],
  ["Int", 2.5],
  ["Int", 123_456_789_012],
  ["Float", SECRET],
  ["ID", { a: SECRET }],
  ["String", { password: SECRET }],
  ["String", [SECRET]],
  ["Kind", SECRET],
  ["Kind", { a: SECRET }],
  ["Kind", 17],
  ["Input", SECRET],
])("an invalid value of %s is not repeated: %j", (type, value) => {
  const fault = faultOf(type, value);
  expect(fault?.param).toBe("v");
  expect(fault?.message).toMatch(/^Variable "\$v" has an invalid value: .{20,}\.$/);
  expect(fault?.message).not.toMatch(/hunter|secret|lines|2\.5|123|17/);
});

test.each([
  [{}, "v.name"],
  [{ name: null }, "v.name"],
  [{ name: "a", parts: [{ role: "FIRST" }, {}] }, "v.parts.1.role"],
  [{ name: "a", parts: [{ role: "THIRD" }] }, "v.parts.0.role"],
])("the member at fault of %j is %s, also where it is missing", (value, param) => {
  const fault = faultOf("Input", value);
  expect(fault?.param).toBe(param);
  expect(fault?.message).not.toContain("[");
});

test("a value of an enum that is nearly right is corrected", () => {
  expect(faultOf("Kind", "FIRTS")?.message).toBe(
    'Variable "$v" has an invalid value: The value does not exist in "Kind" enum. Did you mean the enum value "FIRST"?',
  );
});
