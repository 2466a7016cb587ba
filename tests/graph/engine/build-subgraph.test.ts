import "../../../subgraphs/shared/schema/reflect.ts";
import { GraphQLScalarType, parse } from "graphql";
import {
  Arg,
  Directive,
  Field,
  ID,
  Int,
  ObjectType,
  Query,
  Resolver,
  Root,
  Subscription,
} from "type-graphql";
import { expect, test } from "vitest";
import { createEngine } from "../../../gateway/federation/engine/engine.ts";
import { createLocalExecutor } from "../../../gateway/federation/executor.local.ts";
import { composeSupergraph } from "../../../scripts/compose.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { buildSubgraph } from "../../../subgraphs/shared/schema/build-subgraph.ts";
import { createNativePlanner } from "../../support/native-planner.ts";
import { Source } from "./support/sources.ts";

const Neuron = new GraphQLScalarType({
  name: "Neuron",
  description: "10^-18 of a token, as a decimal string.",
  serialize(value) {
    if (typeof value !== "string") throw new TypeError(`a Neuron cannot be ${String(value)}`);
    return value;
  },
});
const balances = new Source<string>();

@Directive('@key(fields: "address")')
@ObjectType("Purse", { description: "What an address owns." })
class PurseType {
  @Field(() => ID)
  address!: string;

  @Field(() => Neuron, { description: "What can be spent." })
  balance!: string;
}

@Resolver(() => PurseType)
class PurseResolver {
  @Query(() => PurseType, { nullable: true, description: "One purse." })
  purse(
    @Arg("address", () => ID) address: string,
    @Arg("at", () => Int, { nullable: true, description: "A block." }) _at?: number,
    @Arg("mode", () => String, { defaultValue: "all" }) mode?: string,
  ): object {
    if (mode === "named") throw new AppError("not_found", "No such purse.", { param: "address" });
    if (mode === "bug") throw new Error("password is hunter2");
    return { address, balance: mode === "unwritable" ? 1 : mode === "missing" ? null : "1" };
  }

  @Subscription(() => Neuron, { subscribe: () => balances.subscribe() })
  balanceChanged(@Root() balance: string): string {
    return balance;
  }
}

@Directive("@shareable")
@ObjectType("Hidden")
class HiddenType {
  @Field(() => Int)
  x!: number;
}

const purses = buildSubgraph("purses", [PurseResolver], {
  orphanedTypes: [HiddenType],
  references: {
    Purse({ address }: { address: string }) {
      if (address === "0xdead") throw new AppError("chain_error", "The node is down.");
      return address === "0x0" ? null : { address, balance: "7" };
    },
  },
});
const names = {
  name: "names",
  sdl: `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
    type Query { owners: [Purse!]! } type Purse @key(fields: "address") { address: ID! }`,
};

function startEngine(addresses: readonly string[]) {
  const bugs: unknown[] = [];
  const supergraphSdl = composeSupergraph([purses, names]);
  const reportBug = (bug: unknown) => bugs.push(bug);
  const engine = createEngine<object>({
    supergraphSdl,
    planner: createNativePlanner(supergraphSdl),
    executors: {
      purses: createLocalExecutor({ schema: purses.schema, contextOf: (context) => context, reportBug }),
      names: {
        execute: () => ({ data: { owners: addresses.map((address) => ({ __typename: "Purse", address })) } }),
        subscribe: () => ({ errors: [] }),
        close: async () => {},
      },
    },
  });
  const ask = async (text: string) =>
    JSON.parse(JSON.stringify(await engine.execute({ document: parse(text), context: {} })));
  return { engine, bugs, ask };
}

test("the SDL matches the classes: order, descriptions, directives, defaults", () => {
  const [links, types] = purses.sdl.split(/(?=type Hidden)/);
  expect(links).toContain('@link(\n    url: "https://specs.apollo.dev/federation/v2.9"');
  expect(types).toMatchInlineSnapshot(`
    "type Hidden @shareable {
      x: Int!
    }

    """
    Fields that read data. Queries change nothing and can be repeated. \`prepare...\` and \`check...\` compute something, such as a transaction for a wallet to sign. A field that fails is null, with the reason in \`errors\`, and the fields beside it are still answered. A field is also null where its description says so.
    """
    type Query {
      """One purse."""
      purse(
        address: ID!
        """A block."""
        at: Int
        mode: String! = "all"
      ): Purse
    }

    """What an address owns."""
    type Purse @key(fields: "address") {
      address: ID!
      """What can be spent."""
      balance: Neuron!
    }

    """10^-18 of a token, as a decimal string."""
    scalar Neuron

    """
    Streams of events over WebSocket, server-sent events or multipart HTTP. Events carry a \`cursor\` unless stated otherwise: after a disconnection, pass the last one as \`after\` to resume without losing events.
    """
    type Subscription {
      balanceChanged: Neuron!
    }"
  `);
});

test("the SDL is deterministic", () => {
  expect(buildSubgraph("purses", [PurseResolver], { orphanedTypes: [HiddenType] }).sdl).toBe(purses.sdl);
});

test("entities are resolved by reference; one that fails does not affect the others", async () => {
  const { ask } = startEngine(["0x1", "0xdead", "0x2"]);
  const result = await ask("{ owners { address balance } }");
  expect(result.data).toBeNull();
  expect(result.errors).toMatchObject([
    { path: ["owners", 1], message: "The node is down.", extensions: { code: "chain_error" } },
  ]);
  expect(await startEngine(["0x1", "0x2"]).ask("{ owners { balance } }")).toEqual({
    data: { owners: [{ balance: "7" }, { balance: "7" }] },
  });
});

test("expected errors are returned with their code, bugs without details", async () => {
  const { ask, bugs } = startEngine([]);
  const result = await ask(`{
    named: purse(address: "1", mode: "named") { address }
    bug: purse(address: "1", mode: "bug") { address }
    fine: purse(address: "1") { address }
  }`);
  expect(result.data).toEqual({ named: null, bug: null, fine: { address: "1" } });
  expect(result.errors).toMatchObject([
    { path: ["named"], message: "No such purse.", extensions: { code: "not_found", param: "address" } },
    { path: ["bug"], extensions: { code: "internal_error" } },
  ]);
  expect(JSON.stringify(result)).not.toContain("hunter2");
  expect(bugs.map(String)).toEqual(["Error: password is hunter2"]);
});

test("a value that cannot be written, or is missing, is reported as a bug", async () => {
  const { ask, bugs } = startEngine([]);
  for (const mode of ["unwritable", "missing"]) {
    const result = await ask(`{ purse(address: "1", mode: "${mode}") { balance } }`);
    expect(result).toMatchObject({
      data: { purse: null },
      errors: [{ path: ["purse", "balance"], extensions: { code: "internal_error" } }],
    });
  }
  expect(bugs.map(String)).toEqual([
    expect.stringContaining("a Neuron cannot be 1"),
    expect.stringContaining("Cannot return null for non-nullable field Purse.balance"),
  ]);
});

test("a source that fails with an expected error sends it as its last event; a bug is a lost source", async () => {
  const { engine } = startEngine([]);
  const request = { document: parse("subscription { balanceChanged }"), context: {} };
  const stream = await engine.subscribe(request);
  if (!("next" in stream)) throw new Error("no stream");
  balances.push("5");
  balances.fail(new AppError("api_key_revoked", "This key was revoked."));
  expect(await stream.next()).toMatchObject({ value: { data: { balanceChanged: "5" } } });
  expect(await stream.next()).toMatchObject({
    value: { errors: [{ extensions: { code: "api_key_revoked" } }] },
  });
  expect(await stream.next()).toMatchObject({ done: true });

  const other = await engine.subscribe(request);
  if (!("next" in other)) throw new Error("no stream");
  balances.fail(new Error("bus at 10.0.0.7 is gone"));
  await expect(other.next()).rejects.toThrow("The purses subgraph cannot be reached.");
});

test("composition reports every error", () => {
  const wrong = { name: "wrong", sdl: "type Query { a: Nope b: Gone }" };
  expect(() => composeSupergraph([purses, wrong])).toThrow(/Nope[\s\S]*Gone/);
});
