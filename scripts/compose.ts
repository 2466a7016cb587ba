import { composeServices } from "@theguild/federation-composition";
import { parse } from "graphql";

/** A subgraph to compose. `url` is written into the supergraph for other routers; ours has it from its settings. */
export type ComposedSubgraph = { readonly name: string; readonly sdl: string; readonly url?: string };

/** Composes subgraphs into one supergraph. Throws with every composition error, one per line. */
export function composeSupergraph(subgraphs: readonly ComposedSubgraph[]): string {
  const services = subgraphs.map(({ name, sdl, url }) => {
    return { name, typeDefs: parse(sdl, { noLocation: true }), url: url ?? `http://${name}` };
  });
  const { errors = [], supergraphSdl } = composeServices(services);
  if (errors.length > 0 || !supergraphSdl) {
    throw new Error(["the subgraphs do not compose:", ...errors.map(({ message }) => message)].join("\n"));
  }
  return supergraphSdl;
}
