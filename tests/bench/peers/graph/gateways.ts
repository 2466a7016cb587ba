import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { DocumentNode } from "graphql";
import { createEngine } from "../../../../gateway/engine/engine.ts";
import type { SubgraphExecutor } from "../../../../gateway/engine/subgraph-executor.ts";
import { createRemoteExecutor } from "../../../../gateway/executor.remote.ts";
import type { GraphContext } from "../../../../gateway/graph.ts";
import { createPlanner } from "../../../../gateway/planner.ts";
import { createServer as createOurServer } from "../../../../gateway/server.ts";
import { createApp } from "../../../../src/app.ts";
import { NETWORKS, withAddresses } from "../../../../src/chain/networks.ts";
import { readConfig } from "../../../../src/config.ts";
import { ROUTER_WALLET } from "../../../../src/devnet/accounts.ts";
import { contractAddresses, networkContracts } from "../../../../src/devnet/deploy.ts";
import { createLogger } from "../../../../src/kernel/log.ts";
import { importPeer } from "../../../peers/install.ts";

type Urls = Readonly<Record<string, string>>;
type OpenGateway = (supergraphSdl: string, urls: Urls) => Promise<string>;

/** The whole way over HTTP: each gateway answers at the address returned, by the server its makers bring with it. */
export const GATEWAYS = {
  /** Our door as it is, with everybody's credential, limits and policy looked at; only the cost may be higher. */
  zerograph: async (supergraphSdl, urls) => {
    const { RPC_URL = "", DATA_DIR = "" } = process.env;
    const config = readConfig({
      ...{ NETWORK: "devnet", RPC_URL, DATA_DIR, LOG_LEVEL: "error" },
      ROUTER_PRIVATE_KEY: ROUTER_WALLET.privateKey,
      GRAPH_LIMITS: "cost=1000000",
      RATE_LIMIT_PER_ADDRESS: "0",
    });
    const contracts = networkContracts(contractAddresses());
    const network = withAddresses(NETWORKS.devnet, { rpcUrls: [RPC_URL], contracts });
    const app = await createApp(config, network, createLogger("error"));
    const executors: Record<string, SubgraphExecutor<GraphContext>> = {};
    for (const [name, url] of Object.entries(urls))
      executors[name] = createRemoteExecutor({ url, headers: () => ({}), connectionParams: () => ({}) });
    const engine = createEngine({ supergraphSdl, executors, planner: createPlanner(supergraphSdl) });
    const server = await createOurServer(app, {
      ...{ engine, supergraphSdl, apiSchema: engine.apiSchema },
      guardOf: () => undefined,
      close: async () => {},
    });
    return server.listen({ host: "127.0.0.1", port: 0 });
  },
  "hive gateway, router-runtime": async (supergraphSdl) => {
    const { unifiedGraphHandler } = await importPeer<{ unifiedGraphHandler: unknown }>(
      "@graphql-hive/router-runtime",
    );
    return openHive(supergraphSdl, { unifiedGraphHandler });
  },
  /** By stitching, as it is unless told. */
  "hive gateway": async (supergraphSdl) => openHive(supergraphSdl, {}),
  "@apollo/gateway": async (supergraphSdl) => {
    const { ApolloGateway } = await importPeer<{ ApolloGateway: new (options: object) => object }>(
      "@apollo/gateway",
    );
    const { ApolloServer } = await importPeer<{ ApolloServer: new (options: object) => object }>(
      "@apollo/server",
    );
    const { startStandaloneServer } = await importPeer<{
      startStandaloneServer(server: object, options: object): Promise<{ url: string }>;
    }>("@apollo/server/standalone");
    const server = new ApolloServer({ gateway: new ApolloGateway({ supergraphSdl }) });
    const { url } = await startStandaloneServer(server, { listen: { host: "127.0.0.1", port: 0 } });
    return url;
  },
  "schema stitching, Yoga": async (supergraphSdl) => {
    const { getStitchedSchemaFromSupergraphSdl } = await importPeer<{
      getStitchedSchemaFromSupergraphSdl(options: object): object;
    }>("@graphql-tools/federation");
    const { createYoga } = await importPeer<{ createYoga(options: object): RequestListener }>("graphql-yoga");
    const schema = getStitchedSchemaFromSupergraphSdl({ supergraphSdl, batch: true });
    return listen(createYoga({ schema, logging: false }));
  },
  "mercurius gateway": async (_, urls) => {
    const { default: fastify } = await importPeer<{ default(): MercuriusApp }>("fastify");
    const { default: gateway } = await importPeer<{ default: object }>("@mercuriusjs/gateway");
    const app = fastify();
    const services = Object.entries(urls).map(([name, url]) => {
      return { name, url: url.replace(/(\w+)$/, "fed1/$1"), mandatory: true };
    });
    await app.register(gateway, { gateway: { services } });
    return app.listen({ host: "127.0.0.1", port: 0 });
  },
} as const satisfies Readonly<Record<string, OpenGateway>>;

export type GatewayName = keyof typeof GATEWAYS;

type MercuriusApp = {
  register(plugin: object, options: object): Promise<void>;
  listen(options: object): Promise<string>;
};

async function openHive(supergraph: string | DocumentNode, options: object): Promise<string> {
  const { createGatewayRuntime } = await importPeer<{
    createGatewayRuntime(options: object): RequestListener;
  }>("@graphql-hive/gateway-runtime");
  return listen(createGatewayRuntime({ supergraph, logging: false, ...options }));
}

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
