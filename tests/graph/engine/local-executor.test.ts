import { buildSchema, Kind, parse, visit } from "graphql";
import { expect, test } from "vitest";
import { createLocalExecutor } from "../../../gateway/federation/executor.local.ts";

test("a copy of an operation with fewer fields is run as it is, also after the operation was compiled", async () => {
  const read: string[] = [];
  const field = (name: string) => () => {
    read.push(name);
    return name;
  };
  const schema = buildSchema("type Query { a: String b: String }");
  const fields = schema.getQueryType()?.getFields() ?? {};
  for (const name of ["a", "b"]) Object.assign(fields[name] ?? {}, { resolve: field(name) });
  const executor = createLocalExecutor({ schema, contextOf: () => ({}) });
  const run = async (document: ReturnType<typeof parse>, text: string) => {
    read.length = 0;
    const request = { document, text, variables: {}, context: {}, scope: {}, signal: undefined };
    const { data } = await executor.execute(request);
    return { data: { ...data }, read: read.toSorted() };
  };
  const [whole, text] = [parse("{ a b }"), "{ a b }"];
  for (let n = 0; n < 3; n++)
    expect(await run(whole, text)).toEqual({ data: { a: "a", b: "b" }, read: ["a", "b"] });
  const withoutB = {
    Field: (node: { readonly name: { readonly value: string } }) =>
      node.name.value === "b" ? null : undefined,
  };
  const copies = [
    visit(whole, withoutB),
    { ...whole, definitions: visit(whole, withoutB).definitions, kind: Kind.DOCUMENT },
  ] as const;
  for (const copy of copies) expect(await run(copy, "{ a }")).toEqual({ data: { a: "a" }, read: ["a"] });
});
