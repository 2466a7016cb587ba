import { parse } from "graphql";
import { expect, test } from "vitest";
import { startFederation } from "./support/federation.ts";

test("a result with too many fragments to deliver one by one reports each refusal once", async () => {
  const ids = Array.from({ length: 600 }, (_, n) => ({ id: String(n) }));
  const guard = { id: "nobody", refuse: () => ({ code: "missing_authorization", message: "no" }) };
  const federation = await startFederation(
    {
      things: {
        sdl: `type Query { things: [Thing!]! hidden: Int } type Thing @key(fields: "id") { id: ID! }`,
        resolvers: { Query: { things: () => ids } } as never,
      },
      prices: {
        sdl: `type Thing @key(fields: "id") { id: ID! price: Int stock: Int }`,
        resolvers: {
          Thing: { __resolveReference: ({ id }: { id: string }) => ({ id }), price: () => 5, stock: () => 3 },
        } as never,
      },
    },
    "local",
    { guardOf: () => (_, field) => (field === "hidden" ? guard : undefined) },
  );
  const document = parse("{ hidden things { id ... @defer { price } ... @defer { stock } } }");
  const result = await federation.engine.executeIncrementally({ document, context: { user: "nobody" } });
  expect(result).toMatchObject({
    data: { hidden: null },
    errors: [{ path: ["hidden"], extensions: { code: "missing_authorization" } }],
  });
  await federation.close();
});
