import { once } from "../src/kernel/async/once.ts";
import { build as buildAccounts } from "./accounts/module.ts";
import { build as buildChain } from "./chain/module.ts";
import { build as buildInference } from "./inference/module.ts";
import type { Subgraph } from "./shared/schema/build-subgraph.ts";
import { build as buildStorage } from "./storage/module.ts";

/**
 * A subgraph of the product, and its factory. Building it needs no services: those come with each request's context.
 */
export type SubgraphModule = { readonly name: string; readonly build: () => Subgraph };

/** The subgraphs of the product, in the order of the supergraph. */
export const modules = [
  { name: "accounts", build: once(buildAccounts) },
  { name: "inference", build: once(buildInference) },
  { name: "storage", build: once(buildStorage) },
  { name: "chain", build: once(buildChain) },
] as const satisfies readonly SubgraphModule[];
