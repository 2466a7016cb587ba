import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { DocumentNode } from "graphql";
import type { SubgraphExecutor } from "../../../../gateway/federation/engine/subgraph-executor.ts";
import { createRemoteExecutor } from "../../../../gateway/federation/executor.remote.ts";
import type { GraphContext } from "../../../../gateway/federation/graph.ts";
import { keepNewObjectsYoung } from "../../../../gateway/garbage-collection.ts";
import { importPeer } from "../../../peers/install.ts";
import { openDoor } from "./door.ts";

type Urls = Readonly<Record<string, string>>;
type OpenGateway = (supergraphSdl: string, urls: Urls) => Promise<string>;

/**
 * The whole way over HTTP: each gateway answers at the returned address, by the server that comes with it.
 */
export const GATEWAYS = {
  zerograph: async (supergraphSdl, urls) => {
    keepNewObjectsYoung();
    const executors: Record<string, SubgraphExecutor<GraphContext>> = {};
    for (const [name, url] of Object.entries(urls))
      executors[name] = createRemoteExecutor({ url, headers: () => ({}), connectionParams: () => ({}) });
    return openDoor(supergraphSdl, executors);
  },
  "hive gateway, router-runtime": async (supergraphSdl) => {
    const { unifiedGraphHandler } = await importPeer<{ unifiedGraphHandler: unknown }>(
      "@graphql-hive/router-runtime",
    );
    return openHive(supergraphSdl, { unifiedGraphHandler });
  },
  /** By stitching, its default. */
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
