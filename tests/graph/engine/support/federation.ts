import { buildSubgraphSchema, type GraphQLResolverMap } from "@apollo/subgraph";
import Fastify, { type FastifyInstance } from "fastify";
import { type GraphQLSchema, parse } from "graphql";
import mercurius from "mercurius";
import { createEngine, type Engine } from "../../../../gateway/federation/engine/engine.ts";
import type { GuardOf } from "../../../../gateway/federation/engine/guards.ts";
import type { Planner } from "../../../../gateway/federation/engine/planner.ts";
import { readSupergraph } from "../../../../gateway/federation/engine/planning/api-schema.ts";
import type { RolloutOptions } from "../../../../gateway/federation/engine/planning/rollout.ts";
import type { SubgraphExecutor } from "../../../../gateway/federation/engine/subgraph-executor.ts";
import { createLocalExecutor } from "../../../../gateway/federation/executor.local.ts";
import { createRemoteExecutor } from "../../../../gateway/federation/executor.remote.ts";
import { composeSupergraph } from "../../../../scripts/compose.ts";
import { FEDERATION_LINK } from "../../../../subgraphs/shared/schema/build-subgraph.ts";
import { createNativePlanner } from "../../../support/native-planner.ts";

/** The context that the tests pass to the engine. */
export type TestContext = { readonly user: string };

/** A subgraph of a test: SDL without the link, and resolvers as @apollo/subgraph accepts them. */
export type TestSubgraph = { readonly sdl: string; readonly resolvers: GraphQLResolverMap<TestContext> };

/** How the engine reaches its subgraphs. */
export const EXECUTORS = ["local", "remote"] as const;
export type ExecutorKind = (typeof EXECUTORS)[number];

/** A request that a subgraph received. */
type Asked = { readonly subgraph: string; readonly text: string; readonly variables: unknown };

/** A running federation: the engine, and its requests to each subgraph. */
export type Federation = {
  readonly supergraphSdl: string;
  readonly engine: Engine<TestContext>;
  readonly asked: Asked[];
  readonly failures: { readonly subgraph: string; readonly reason: unknown }[];
  /** The same graph, with some of its subgraphs unreachable. */
  without(...subgraphs: string[]): Engine<TestContext>;
  close(): Promise<void>;
};

/** Further options of a test's engine. */
type Special = {
  readonly planner?: (supergraphSdl: string) => Planner;
  readonly guardOf?: (supergraphSdl: string, api: GraphQLSchema) => GuardOf<TestContext>;
  readonly rollout?: RolloutOptions<TestContext>;
};

/** A port without a listener. */
export const DEAD_URL = "http://127.0.0.1:1/graphql";

/** Composes subgraphs and starts an engine over them, in this process or over real Mercurius servers. */
export async function startFederation(
  subgraphs: Readonly<Record<string, TestSubgraph>>,
  kind: ExecutorKind,
  special: Special = {},
): Promise<Federation> {
  const named = Object.entries(subgraphs).map(([name, { sdl, resolvers }]) => {
    const text = FEDERATION_LINK + sdl;
    return { name, sdl: text, schema: buildSubgraphSchema([{ typeDefs: parse(text), resolvers }]) };
  });
  const supergraphSdl = composeSupergraph(named);
  const planner = (special.planner ?? createNativePlanner)(supergraphSdl);
  const guardOf = special.guardOf?.(supergraphSdl, readSupergraph(supergraphSdl).api);
  const asked: Asked[] = [];
  const failures: { subgraph: string; reason: unknown }[] = [];
  const reportFailure = (subgraph: string, reason: unknown) => void failures.push({ subgraph, reason });
  const servers: FastifyInstance[] = [];
  const executors: Record<string, SubgraphExecutor<TestContext>> = {};
  for (const { name, schema } of named) {
    const executor = kind === "local" ? localExecutor(schema) : await startRemote(schema, servers);
    executors[name] = recorded(name, executor, asked);
  }
  const common = {
    ...{ supergraphSdl, planner, reportFailure },
    ...(guardOf && { guardOf }),
    ...(special.rollout && { rollout: special.rollout }),
  };
  return {
    supergraphSdl,
    engine: createEngine({ ...common, executors }),
    asked,
    failures,
    without(...names) {
      const dead = Object.fromEntries(names.map((name) => [name, deadExecutor(kind)]));
      return createEngine({ ...common, executors: { ...executors, ...dead } });
    },
    async close() {
      await Promise.all(Object.values(executors).map((executor) => executor.close()));
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

function localExecutor(schema: GraphQLSchema): SubgraphExecutor<TestContext> {
  return createLocalExecutor<TestContext, TestContext>({ schema, contextOf: (context) => ({ ...context }) });
}

/** An executor over a Mercurius server, as subgraphs are served in processes of their own. */
async function startRemote(
  schema: GraphQLSchema,
  servers: FastifyInstance[],
): Promise<SubgraphExecutor<TestContext>> {
  const server = await serveSubgraph(schema);
  servers.push(server);
  return remoteExecutor(`${server.listeningOrigin}/graphql`);
}

/** Serves a subgraph by Mercurius, on its own port. */
export async function serveSubgraph(schema: GraphQLSchema): Promise<FastifyInstance> {
  const server = Fastify({ logger: false });
  await server.register(mercurius, {
    schema,
    jit: 1,
    context: (request) => ({ user: String(request.headers["x-user"]) }),
    subscription: {
      fullWsTransport: true,
      keepAlive: 10_000,
      onConnect: ({ payload }) => (payload?.user === "nobody" ? false : { user: payload?.user }),
    },
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  return server;
}

type Deadlines = { readonly timeoutMs?: number | undefined; readonly pongTimeoutMs?: number | undefined };

/** An executor for a URL; a test about deadlines gives short ones, which a busy machine would miss elsewhere. */
export function remoteExecutor(
  url: string,
  { timeoutMs = 60_000, pongTimeoutMs = 60_000 }: Deadlines = {},
): SubgraphExecutor<TestContext> {
  return createRemoteExecutor<TestContext>({
    url,
    headers: ({ user }) => ({ "x-user": user }),
    connectionParams: ({ user }) => ({ user }),
    timeoutMs,
    pingMs: 200,
    pongTimeoutMs,
  });
}

function deadExecutor(kind: ExecutorKind): SubgraphExecutor<TestContext> {
  if (kind === "remote") return remoteExecutor(DEAD_URL);
  const refuse = () => {
    throw new Error("down");
  };
  return { execute: refuse, subscribe: refuse, close: async () => {} };
}

function recorded(
  subgraph: string,
  executor: SubgraphExecutor<TestContext>,
  asked: Asked[],
): SubgraphExecutor<TestContext> {
  return {
    execute(request) {
      asked.push({ subgraph, text: request.text, variables: structuredClone(request.variables) });
      return executor.execute(request);
    },
    subscribe: (request) => executor.subscribe(request),
    close: () => executor.close(),
  };
}
