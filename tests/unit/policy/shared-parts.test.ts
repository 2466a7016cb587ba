import { buildSchema, type FieldNode, type OperationDefinitionNode, parse, print } from "graphql";
import { expect, test } from "vitest";
import { createPartSharing } from "../../../gateway/federation/policy/shared-parts.ts";

const SCHEMA = buildSchema(`
  type Query { person(id: ID): Person people: [Person] }
  type Person { name: String friend: Person }
`);
const TEXT = `query Q($id: ID!) {
  person(id: $id) { name again: name friend @include(if: true) { name } }
  people { ...Parts }
}
fragment Parts on Person { name }`;

function fieldsOf(document: ReturnType<typeof parse>): readonly FieldNode[] {
  const [operation] = document.definitions as readonly OperationDefinitionNode[];
  const [person] = (operation?.selectionSet.selections ?? []) as readonly FieldNode[];
  return (person?.selectionSet?.selections ?? []) as readonly FieldNode[];
}

test("a document with shared parts is the same document", () => {
  const share = createPartSharing(SCHEMA);
  const document = share(parse(TEXT, { noLocation: true }));
  expect(document).toEqual(parse(TEXT, { noLocation: true }));
  expect(print(document)).toBe(print(parse(TEXT)));
});

test("documents share the names of the schema and empty lists, and no field or name of their own", () => {
  const share = createPartSharing(SCHEMA);
  const [one, other] = [share(parse(TEXT)), share(parse(TEXT))].map(fieldsOf);
  expect(one?.[0]?.name).toBe(other?.[0]?.name);
  expect(one?.[0]?.name).toBe(one?.[1]?.name);
  expect(one?.[0]?.arguments).toBe(other?.[1]?.directives);
  expect(one?.[0]).not.toBe(other?.[0]);
  expect(one?.[1]?.alias).not.toBe(other?.[1]?.alias);
});
