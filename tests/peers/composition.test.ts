import { readdirSync, readFileSync } from "node:fs";
import { lexicographicSortSchema, type parse, printSchema } from "graphql";
import { describe, expect, inject, test } from "vitest";
import { readSupergraph } from "../../gateway/engine/api-schema.ts";
import { importPeer } from "./install.ts";

const FOLDER = "schema/subgraphs";

type Composed = { readonly supergraphSdl?: string; readonly errors?: readonly Error[] };

describe.skipIf(!inject("hasPeers"))("Apollo's composition", () => {
  test("takes our subgraphs without an error, and makes the same API of them", async () => {
    const { composeServices } = await importPeer<{ composeServices(services: object[]): Composed }>(
      "@apollo/composition",
    );
    // Its schemas are made by its own copy of graphql.
    const peer = await importPeer<{ parse: typeof parse }>("graphql");
    const services = readdirSync(FOLDER).map((file) => ({
      name: file.replace(".graphql", ""),
      typeDefs: peer.parse(readFileSync(`${FOLDER}/${file}`, "utf8")),
      url: `http://${file}`,
    }));
    const { errors, supergraphSdl = "" } = composeServices(services);
    expect(errors ?? []).toEqual([]);
    expect(apiOf(supergraphSdl)).toEqual(apiOf(readFileSync("schema/supergraph.graphql", "utf8")));
  });
});

function apiOf(supergraphSdl: string): string {
  return printSchema(lexicographicSortSchema(readSupergraph(supergraphSdl).api));
}
