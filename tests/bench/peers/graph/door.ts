import { createEngine } from "../../../../gateway/federation/engine/engine.ts";
import type { SubgraphExecutor } from "../../../../gateway/federation/engine/subgraph-executor.ts";
import type { GraphContext } from "../../../../gateway/federation/graph.ts";
import { Introspections } from "../../../../gateway/federation/introspections.ts";
import { ProcessPlanner } from "../../../../gateway/federation/planner/process-planner.ts";
import { toSupergraphDocument } from "../../../../gateway/federation/supergraph-source.ts";
import { createServer } from "../../../../gateway/server.ts";
import { createApp } from "../../../../src/app.ts";
import { NETWORKS, withAddresses } from "../../../../src/chain/networks.ts";
import { readConfig } from "../../../../src/config.ts";
import { ROUTER_WALLET } from "../../../../src/devnet/chain/accounts.ts";
import { contractAddresses, networkContracts } from "../../../../src/devnet/chain/deploy.ts";
import { createLogger } from "../../../../src/kernel/log.ts";

/**
 * Our request gate in front of another graph: every credential and the policy are checked. Only what a peer
 * lacks entirely is disabled: the rate limit, and limits on cost and connections that a benchmark would
 * reach.
 */
export async function openDoor(
  supergraphSdl: string,
  executors: Readonly<Record<string, SubgraphExecutor<GraphContext>>>,
): Promise<string> {
  const { RPC_URL = "", DATA_DIR = "", DATABASE_URL } = process.env;
  const config = readConfig({
    ...{ NETWORK: "devnet", RPC_URL, DATA_DIR, LOG_LEVEL: "error" },
    ...(DATABASE_URL !== undefined && { DATABASE_URL }),
    ROUTER_PRIVATE_KEY: ROUTER_WALLET.privateKey,
    GRAPH_LIMITS: "cost=1000000,connectionsPerAddress=20000",
    RATE_LIMIT_PER_ADDRESS: "0",
  });
  const contracts = networkContracts(contractAddresses());
  const network = withAddresses(NETWORKS.devnet, { rpcUrls: [RPC_URL], contracts });
  const log = createLogger("error");
  const app = await createApp(config, network, log);
  const planner = new ProcessPlanner({ supergraphSdl, log });
  planner.start();
  const engine = createEngine({ supergraphSdl, executors, planner });
  const server = await createServer(app, {
    ...{
      engine,
      supergraphSdl,
      supergraph: toSupergraphDocument(supergraphSdl),
      apiSchema: engine.apiSchema,
    },
    ...{ guardOf: () => undefined, introspections: new Introspections() },
    warmUp: () => planner.start(),
    close: () => planner.close(),
  });
  return server.listen({ host: "127.0.0.1", port: 0 });
}
