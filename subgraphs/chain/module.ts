import { buildSubgraph, type Subgraph } from "../shared/build-subgraph.ts";
import type { Context } from "../shared/context.ts";
import { NetworkResolver } from "./network.resolver.ts";
import { ProviderResolver } from "./provider.resolver.ts";
import { findProvider, ProviderStub } from "./provider.stub.ts";

/** The subgraph of the chain: networks, blocks, contracts and providers' rows. */
export function build(): Subgraph {
  return buildSubgraph<Context>("chain", [NetworkResolver, ProviderResolver], {
    references: { Provider: findProvider },
    // No query of this subgraph leads to a provider.
    orphanedTypes: [ProviderStub],
  });
}
