import { once } from "../src/kernel/async/once.ts";
import { build as buildAccounts } from "./accounts/module.ts";
import { build as buildChain } from "./chain/module.ts";
import { build as buildInference } from "./inference/module.ts";
import type { Subgraph } from "./shared/schema/build-subgraph.ts";
import { build as buildStorage } from "./storage/module.ts";

/** A subgraph of the product, and how to make it. Making it needs no service: those come with each request. */
export type SubgraphModule = { readonly name: string; readonly build: () => Subgraph };

/** The subgraphs of the product, in the order in which the supergraph names them. */
export const modules = [
  { name: "accounts", build: once(buildAccounts) },
  { name: "inference", build: once(buildInference) },
  { name: "storage", build: once(buildStorage) },
  { name: "chain", build: once(buildChain) },
] as const satisfies readonly SubgraphModule[];
