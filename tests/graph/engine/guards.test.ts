import { buildSchema, parse, validate } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../../gateway/federation/engine/engine.ts";
import type { Guard } from "../../../gateway/federation/engine/guards.ts";
import { createGuards } from "../../../gateway/federation/policy/access.ts";
import type { Principal } from "../../../src/keys/auth/principal.ts";
import { createNativePlanner } from "../../support/native-planner.ts";
import { EXECUTORS, type Federation, startFederation, type TestContext } from "./support/federation.ts";

const ROWS = [
  { id: "1", name: "one" },
  { id: "2", name: "two" },
];
const find = ({ id }: { id: string }) => ({ id });
let secretsTold = 0;

const subgraphs = {
  things: {
    sdl: `
      type Query { things: [Thing!]! thing: Thing hidden: Int @authenticated double: Double @requiresScopes(scopes: [["keys:read"]]) nodes: [Node!]! vault: Vault box: Box! }
      type Mutation { touch: Int erase: Int @policy(policies: [["wallet-session"]]) }
      interface Node { id: ID! name: String }
      type Thing implements Node @key(fields: "id") { id: ID! name: String secret: String @requiresScopes(scopes: [["keys:read"]]) }
      type Open implements Node { id: ID! name: String @requiresScopes(scopes: [["account:read"]]) }
      type Double @requiresScopes(scopes: [["keys:manage"]]) { gold: Int }
      type Vault @authenticated { gold: Int }
      type Box { sure: Int! @requiresScopes(scopes: [["account:read", "keys:read"], ["keys:manage"]]) other: Int }
    `,
    resolvers: {
      Query: {
        things: () => ROWS,
        thing: () => ROWS[0],
        hidden: () => 1,
        nodes: () => ROWS.map((row) => ({ __typename: "Thing", ...row })),
        vault: () => ({ gold: 7 }),
        double: () => ({ gold: 8 }),
        box: () => ({ sure: 1, other: 2 }),
      },
      Mutation: { touch: () => 1, erase: () => ++secretsTold },
      Thing: {
        __resolveReference: find,
        secret: () => {
          secretsTold += 1;
          return "s3cret";
        },
      },
    },
  },
  prices: {
    sdl: `type Thing @key(fields: "id") { id: ID! price: Int @requiresScopes(scopes: [["account:read"]]) stock: Int }`,
    resolvers: { Thing: { __resolveReference: find, price: () => 5, stock: () => 3 } },
  },
};

const mk = (...scopes: ("account:read" | "keys:read" | "keys:manage")[]): Principal => ({
  kind: "management-key",
  account: "0xa",
  keyId: "k",
  scopes,
});
const NOBODY: Principal = { kind: "anonymous" };
const SK: Principal = { kind: "api-key", account: "0xa", keyId: "k" };
const SESSION: Principal = { kind: "wallet-session", account: "0xa", sessionId: "s" };

type Asking = TestContext & { readonly principal: Principal };

describe.each(EXECUTORS)("guarded fields, %s", (kind) => {
  let federation: Federation;
  let engine: Engine<Asking>;
  beforeAll(async () => {
    federation = await startFederation(subgraphs, kind, {
      guardOf: (sdl, api) => createGuards(sdl, api) as never,
    });
    engine = federation.engine as never;
  });
  afterAll(() => federation.close());

  const run = async (principal: Principal, query: string) => {
    federation.asked.length = 0;
    const document = parse(query);
    expect(validate(engine.apiSchema, document)).toEqual([]);
    const result = await engine.execute({ document, context: { user: "ann", principal } });
    const { data, errors = [] } = JSON.parse(JSON.stringify(result));
    const reported = errors.map(({ path, extensions }: { path: unknown[]; extensions: { code: string } }) => [
      path.join("."),
      extensions.code,
    ]);
    const messages = errors.map(({ message }: { message: string }) => message);
    return { data, reported, messages, asked: federation.asked.map(({ text }) => text).join("\n") };
  };

  test("a refused field is null with an error at each of its places, and no subgraph request is sent for it", async () => {
    const { data, reported, asked } = await run(NOBODY, "{ things { name secret price stock } }");
    expect(data.things).toEqual([
      { name: "one", secret: null, price: null, stock: 3 },
      { name: "two", secret: null, price: null, stock: 3 },
    ]);
    expect(reported).toEqual([
      ["things.0.secret", "missing_authorization"],
      ["things.0.price", "missing_authorization"],
      ["things.1.secret", "missing_authorization"],
      ["things.1.price", "missing_authorization"],
    ]);
    expect(asked).not.toMatch(/secret|price/);
  });

  test("a caller with the scope receives the field, whoever sent the same query before", async () => {
    const query = "{ thing { secret price } }";
    expect((await run(NOBODY, query)).data.thing).toEqual({ secret: null, price: null });
    expect((await run(mk("keys:read"), query)).data.thing).toEqual({ secret: "s3cret", price: null });
    expect((await run(mk("account:read"), query)).data.thing).toEqual({ secret: null, price: 5 });
    expect((await run(SESSION, query)).data.thing).toEqual({ secret: "s3cret", price: 5 });
    expect((await run(NOBODY, query)).reported).toHaveLength(2);
  });

  test("callers that lack different scopes of one field each read the scope that they lack", async () => {
    const query = "{ double { gold } }";
    const lacking = async (principal: Principal) => (await run(principal, query)).messages;
    expect(await lacking(mk("account:read"))).toEqual(["This credential lacks the scope keys:read."]);
    expect(await lacking(mk("keys:read"))).toEqual(["This credential lacks the scope keys:manage."]);
    expect(await lacking(mk("account:read"))).toEqual(["This credential lacks the scope keys:read."]);
    expect((await run(mk("keys:read", "keys:manage"), query)).data).toEqual({ double: { gold: 8 } });
  });

  test("a subgraph from which nothing else is selected is not called", async () => {
    const { data, reported, asked } = await run(SK, "{ thing { id price } }");
    expect(data).toEqual({ thing: { id: "1", price: null } });
    expect(reported).toEqual([["thing.price", "insufficient_scope"]]);
    expect(asked).not.toContain("_entities");
  });

  test("all root fields may be refused", async () => {
    const { data, reported, asked } = await run(NOBODY, "{ hidden vault { gold } }");
    expect([data, asked]).toEqual([{ hidden: null, vault: null }, ""]);
    expect(reported.map(([path]: string[]) => path)).toEqual(["hidden", "vault"]);
    expect((await run(SK, "{ hidden vault { gold } }")).data).toEqual({ hidden: 1, vault: { gold: 7 } });
  });

  test("a refused mutation does nothing, and the others run", async () => {
    secretsTold = 0;
    const query = "mutation { touch erase again: touch }";
    expect(await run(mk("keys:manage"), query)).toMatchObject({
      data: { touch: 1, erase: null, again: 1 },
      reported: [["erase", "insufficient_scope"]],
    });
    expect(secretsTold).toBe(0);
    expect((await run(SESSION, query)).data.erase).toBe(1);
  });

  test("one of several groups of scopes suffices, and each of its scopes is required", async () => {
    const query = "{ box { sure other } }";
    for (const principal of [mk("account:read", "keys:read"), mk("keys:manage"), SESSION])
      expect((await run(principal, query)).data).toEqual({ box: { sure: 1, other: 2 } });
    // A refused field that is not nullable nulls its parent object.
    expect(await run(mk("account:read"), query)).toMatchObject({
      data: null,
      reported: [["box.sure", "insufficient_scope"]],
    });
  });

  test("a field of an interface is guarded as the strictest of its types", async () => {
    expect((await run(NOBODY, "{ nodes { id name } }")).data.nodes[0]).toEqual({ id: "1", name: null });
    expect((await run(NOBODY, "{ nodes { id ... on Thing { name } } }")).data.nodes[0]).toEqual({
      id: "1",
      name: "one",
    });
    expect((await run(mk("account:read"), "{ nodes { name } }")).data.nodes[0]).toEqual({ name: "one" });
  });

  test("aliases and fragments do not bypass a guard", async () => {
    const query = `
      { thing { a: secret ...f ... on Thing { c: secret } } }
      fragment f on Thing { b: secret ... { d: price } }
    `;
    const { data, reported, asked } = await run(NOBODY, query);
    expect(data.thing).toEqual({ a: null, b: null, d: null, c: null });
    expect(reported).toHaveLength(4);
    expect(asked).not.toMatch(/secret|price/);
  });

  test("a condition that excludes the field excludes its refusal", async () => {
    const { data, reported } = await run(
      NOBODY,
      "{ thing { id secret @skip(if: true) price @include(if: false) } }",
    );
    expect([data, reported]).toEqual([{ thing: { id: "1" } }, []]);
  });

  test("a long list does not return one error per item", async () => {
    const many = `{ ${Array.from({ length: 60 }, (_, n) => `t${n}: things { secret price }`).join(" ")} }`;
    const { reported } = await run(NOBODY, many);
    expect(reported).toHaveLength(100);
  });
});

test("a supergraph with an unknown policy or scope is not served", () => {
  const sdl = (directive: string) => `
    directive @policy(policies: [[String!]!]!) on FIELD_DEFINITION
    directive @requiresScopes(scopes: [[String!]!]!) on FIELD_DEFINITION
    type Query { a: Int ${directive} }
  `;
  const open = (directive: string): Guard<{ principal: Principal }> | undefined =>
    createGuards(sdl(directive), buildSchema("type Query { a: Int }"))("Query", "a", "Int");
  expect(open("")).toBeUndefined();
  expect(open('@policy(policies: [["api-key"]])')?.refuse({ principal: SK })).toBeUndefined();
  expect(open('@policy(policies: [["api-key"]])')?.refuse({ principal: SESSION })?.code).toBe(
    "insufficient_scope",
  );
  expect(() => open('@policy(policies: [["admin"]])')).toThrow("policy admin");
  expect(() => open('@requiresScopes(scopes: [["account:rea"]])')).toThrow("scope account:rea");
});

describe.each(EXECUTORS)("progressive overrides, %s", (kind) => {
  const rolled = {
    old: {
      sdl: `
        type Query { token: Token }
        type Token @key(fields: "id") { id: ID! name: String symbol: String logo: String }
      `,
      resolvers: {
        Query: { token: () => ({ id: "1", name: "old", symbol: "old", logo: "old" }) },
        Token: { __resolveReference: find, name: () => "old", symbol: () => "old", logo: () => "old" },
      },
    },
    fresh: {
      sdl: `
        type Token @key(fields: "id") {
          id: ID!
          name: String @override(from: "old", label: "percent(40)")
          symbol: String @override(from: "old", label: "percent(5)")
          logo: String @override(from: "old", label: "beta")
        }
      `,
      resolvers: {
        Token: { __resolveReference: find, name: () => "new", symbol: () => "new", logo: () => "new" },
      },
    },
  };
  let federation: Federation;
  let drawn = 0;
  let planned = 0;
  beforeAll(async () => {
    federation = await startFederation(rolled, kind, {
      rollout: {
        random: () => drawn,
        labels: (context) => new Set(context.user === "tester" ? ["beta", "unknown"] : []),
      },
      planner: (sdl) => {
        const planner = createNativePlanner(sdl);
        return {
          plan(...asked) {
            planned += 1;
            return planner.plan(...asked);
          },
        };
      },
    });
  });
  afterAll(() => federation.close());
  const document = parse("{ token { name symbol logo } }");
  const ask = async (at: number, user = "ann") => {
    drawn = at;
    const { data } = await federation.engine.execute({ document, context: { user } });
    return JSON.parse(JSON.stringify(data)).token;
  };

  test("are drawn at random for each request, below their percentage", async () => {
    expect(await ask(0)).toEqual({ name: "new", symbol: "new", logo: "old" });
    expect(await ask(0.049)).toEqual({ name: "new", symbol: "new", logo: "old" });
    expect(await ask(0.051)).toEqual({ name: "new", symbol: "old", logo: "old" });
    expect(await ask(0.399)).toEqual({ name: "new", symbol: "old", logo: "old" });
    expect(await ask(0.401)).toEqual({ name: "old", symbol: "old", logo: "old" });
    expect(await ask(0.999)).toEqual({ name: "old", symbol: "old", logo: "old" });
  });

  test("are active by their label for matching requests", async () => {
    expect(await ask(0.9, "tester")).toEqual({ name: "old", symbol: "old", logo: "new" });
    expect(await ask(0.9)).toEqual({ name: "old", symbol: "old", logo: "old" });
  });

  test("have as many plans as there are combinations, not as there are draws", async () => {
    planned = 0;
    const fresh = parse("{ token { id name symbol } }");
    for (let at = 0; at < 1; at += 0.01) {
      drawn = at;
      await federation.engine.execute({ document: fresh, context: { user: "ann" } });
    }
    expect(planned).toBe(3);
  });
});
