import { buildSubgraph, type Subgraph } from "../shared/build-subgraph.ts";
import type { Context } from "../shared/context.ts";
import { AccountResolver } from "./account.resolver.ts";
import { findAccount } from "./account.stub.ts";
import { findRequest, InferenceRequestResolver } from "./inference-request.resolver.ts";
import { ModelResolver } from "./model.resolver.ts";
import { findProvider, ProviderResolver } from "./provider.resolver.ts";

/** The subgraph of inference: models, who offers them, and requests. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "inference",
    [ModelResolver, ProviderResolver, InferenceRequestResolver, AccountResolver],
    { references: { Account: findAccount, Provider: findProvider, InferenceRequest: findRequest } },
  );
}
