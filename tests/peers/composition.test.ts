import { readdirSync, readFileSync } from "node:fs";
import { buildSchema, type GraphQLSchema, lexicographicSortSchema, parse, printSchema } from "graphql";
import { describe, expect, inject, test } from "vitest";
import { readSupergraph } from "../../gateway/federation/engine/planning/api-schema.ts";
import { routerSchemas } from "../../scripts/router-schema.ts";
import { importPeer } from "./install.ts";

const NAMES = ["accounts", "inference", "storage", "chain"];
const forRouters = routerSchemas(
  Object.fromEntries(NAMES.map((name) => [name, `http://${name}.test/graphql`])),
);
const committed = new Map(
  readdirSync("schema/subgraphs").map((file) => [
    `subgraphs/${file}`,
    readFileSync(`schema/subgraphs/${file}`, "utf8"),
  ]),
);

describe.skipIf(!inject("hasPeers"))("our subgraphs are composed", () => {
  const sorted = (schema: GraphQLSchema) => printSchema(lexicographicSortSchema(schema));
  const print = (supergraphSdl: string) => sorted(readSupergraph(supergraphSdl).api);
  const ours = print(readFileSync("schema/supergraph.graphql", "utf8"));
  const subgraphsOf = (schemas: ReadonlyMap<string, string>) =>
    [...schemas].flatMap(([path, sdl]) => {
      const name = /^subgraphs\/(\w+)\.graphql$/.exec(path)?.[1];
      return name === undefined ? [] : [{ name, url: `http://${name}.test`, document: parse(sdl) }];
    });

  test.each([
    ["as committed", committed],
    ["as published for routers", forRouters],
  ])("by Apollo's composition, %s, to the same API", async (_, schemas) => {
    const { composeServices } = await importPeer<{
      composeServices(services: object[]): { supergraphSdl?: string; errors?: readonly Error[] };
    }>("@apollo/composition");
    const services = subgraphsOf(schemas).map(({ document, ...one }) => ({ ...one, typeDefs: document }));
    const { errors, supergraphSdl = "" } = composeServices(services);
    expect(errors ?? []).toEqual([]);
    expect(print(supergraphSdl)).toEqual(ours);
  });

  test("by ours, as published for routers, to the same API and with their URLs", () => {
    const supergraph = forRouters.get("supergraph.graphql") ?? "";
    expect(print(supergraph)).toEqual(ours);
    for (const name of NAMES) expect(supergraph).toContain(`url: "http://${name}.test/graphql"`);
  });

  test("by Cosmo's composition, as published for routers, to the same API", async () => {
    const { federateSubgraphs } = await importPeer<{
      federateSubgraphs(options: object): {
        success: boolean;
        errors?: readonly Error[];
        federatedGraphClientSchema: GraphQLSchema;
      };
    }>("@wundergraph/composition");
    const subgraphs = subgraphsOf(forRouters).map(({ document, ...one }) => ({
      ...one,
      definitions: document,
    }));
    const composed = federateSubgraphs({ subgraphs, version: "1" });
    expect(composed.errors).toBeUndefined();
    // Its schema is made by its own copy of graphql, which alone can print it.
    const peer = await importPeer<{ printSchema: typeof printSchema }>("graphql/utilities/printSchema.js");
    expect(sorted(buildSchema(peer.printSchema(composed.federatedGraphClientSchema)))).toEqual(ours);
  });
});
