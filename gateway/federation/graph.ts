import { readFile } from "node:fs/promises";
import type { DocumentNode, GraphQLSchema } from "graphql";
import type { App } from "../../src/app.ts";
import type { Config } from "../../src/config.ts";
import { GRAPH_LIMITS } from "../../src/graph-limits.ts";
import type { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { traceHeaders } from "../../src/kernel/tracing.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { AnswerMemory } from "../../src/load/operation-memory.ts";
import { modules } from "../../subgraphs/modules.ts";
import { createContext } from "../../subgraphs/shared/context.ts";
import {
  PRINCIPAL_HEADER,
  REPLAY_KEY_HEADER,
  sealPrincipal,
  sealReplayKey,
} from "../../subgraphs/shared/principal-token.ts";
import { checkScalars } from "../../subgraphs/shared/schema/scalars.ts";
import { ClientLeft } from "../http/request-abort.ts";
import { createEngine, type Engine } from "./engine/engine.ts";
import type { GuardOf } from "./engine/guards.ts";
import { readSupergraph } from "./engine/planning/api-schema.ts";
import type { SubgraphExecutor } from "./engine/subgraph-executor.ts";
import { createLocalExecutor } from "./executor.local.ts";
import { createRemoteExecutor } from "./executor.remote.ts";
import { Introspections } from "./introspections.ts";
import { type Observed, observeEngine, observeExecutor, observePlanner } from "./observed-graph.ts";
import { ProcessPlanner } from "./planner/process-planner.ts";
import { createGuards } from "./policy/access.ts";
import { SubgraphRefused } from "./subgraph-refused.ts";
import { toSupergraphDocument } from "./supergraph-source.ts";

/** The context of an operation in the engine: its caller. */
export type GraphContext = Observed & {
  readonly principal: Principal;
  /** Derives the key under which responses to the caller's credential may be stored. */
  readonly replayKey?: (() => ReplayKey | undefined) | undefined;
  /** The memory budget of the result until it is sent. Shared subscriptions have none. */
  readonly memory?: AnswerMemory | undefined;
};

/** The whole graph: its engine, and how to close it. */
export type Graph = {
  readonly engine: Engine<GraphContext>;
  readonly apiSchema: GraphQLSchema;
  /** The guards of its fields. */
  readonly guardOf: GuardOf<GraphContext>;
  readonly supergraphSdl: string;
  /** The same, parsed. */
  readonly supergraph: DocumentNode;
  /** Introspection queries run one after another, each in several turns. */
  readonly introspections: Introspections;
  /** Starts in advance what the first operation would otherwise wait for. */
  warmUp(): void;
  close(): Promise<void>;
};

/** The location of the subgraphs: in this process, or at URLs by name. */
export type SubgraphPlaces =
  | { readonly kind: "local"; readonly app: App }
  | { readonly kind: "remote"; readonly urls: Readonly<Record<string, string>>; readonly secret: string };

type Executors = Record<string, SubgraphExecutor<GraphContext>>;

/** Opens the graph of the committed supergraph over its subgraphs, wherever they run. */
export async function openGraph(places: SubgraphPlaces, app: App): Promise<Graph> {
  const supergraphSdl = await readFile(new URL("../../schema/supergraph.graphql", import.meta.url), "utf8");
  const supergraph = toSupergraphDocument(supergraphSdl);
  const views = readSupergraph(supergraph);
  const { metrics, log } = app;
  const unobserved =
    places.kind === "local"
      ? localExecutors(places.app)
      : remoteExecutors(places, deadlinesOf(app.config), app.clock);
  const executors = Object.fromEntries(
    Object.entries(unobserved).map(([name, executor]) => [name, observeExecutor(name, executor)]),
  );
  const guardOf = createGuards(supergraph, views.api);
  const planner = new ProcessPlanner({ supergraphSdl, log, observer: metrics });
  const introspections = new Introspections();
  const bare = createEngine<GraphContext>({
    supergraphSdl,
    views,
    introspectionQueue: (run) => introspections.run(run),
    planner: observePlanner(planner, { metrics, log }),
    executors,
    guardOf,
    resumeMs: (app.config.GRAPH_LIMITS ?? GRAPH_LIMITS).resumeMs,
    reportFailure(subgraph, reason) {
      if (reason instanceof ClientLeft) return;
      if (reason instanceof SubgraphRefused)
        return app.internalRefusals.record(`the subgraph ${subgraph} refuses this gateway`, reason.message);
      app.log.error({ err: reason, subgraph }, "a subgraph request failed");
    },
    reportViolations([first, ...others]) {
      const facts = { path: first?.path?.join("."), reason: first?.message, others: others.length };
      app.log.error(facts, "a result does not fit the schema");
    },
  });
  const engine = observeEngine(bare, { metrics, log, slowMs: app.config.SLOW_OPERATION_MS });
  checkScalars(engine.apiSchema);
  return {
    engine,
    apiSchema: engine.apiSchema,
    guardOf,
    supergraphSdl,
    supergraph,
    introspections,
    warmUp: () => planner.start(),
    async close() {
      await Promise.all([planner, ...Object.values(executors)].map((part) => part.close()));
    },
  };
}

function localExecutors(app: App): Executors {
  return Object.fromEntries(
    modules.map(({ name, build }) => [
      name,
      createLocalExecutor({
        schema: build().schema,
        contextOf: ({ principal, replayKey, memory }: GraphContext, signal) =>
          createContext(app, { principal, replayKey, memory, signal }),
        reportBug: (error) => app.log.error({ err: error, subgraph: name }, "a resolver failed"),
      }),
    ]),
  );
}

/** The subgraph whose mutations return the responses of providers, and are billed. */
const INFERENCE = "inference";
/** Only mutations store their responses, under an `idempotencyKey` of their input: only they pass on the replay key. */
const MUTATION = /^\s*mutation\b/;
const GRACE_MS = 5_000;
/** How long replacing a process takes. Failures are reported within 5 s (promises F37). */
const RESTART_MS = 4_500;
/** The largest response of a provider: images in base64. */
const MAX_IMAGES_BYTES = 64 * 1_048_576;
/**
 * Subgraph responses from this size on are counted in the budget: as received, as parsed and as sent to the client.
 */
const COUNTED_BYTES = 65_536;
const ANSWER_COPIES = 3;

/**
 * The longest that an operation may take: for a mutation, as long as a provider's response, since that is billed.
 */
export function deadlinesOf(config: Config): { readonly queryMs: number; readonly mutationMs: number } {
  return { queryMs: config.GRAPH_QUERY_MS, mutationMs: waitOf(config) };
}

/** The longest wait for a response: the provider's own deadline, and the verification of its signature. */
function waitOf({ PROVIDER_TOTAL_MS, TEE_CHECK_MS }: Config): number {
  return PROVIDER_TOTAL_MS + TEE_CHECK_MS + GRACE_MS;
}

function remoteExecutors(
  { urls, secret }: Extract<SubgraphPlaces, { kind: "remote" }>,
  { queryMs, mutationMs }: ReturnType<typeof deadlinesOf>,
  clock: App["clock"],
): Executors {
  const identity = ({ principal }: GraphContext) => ({
    [PRINCIPAL_HEADER]: sealPrincipal(principal, secret, clock.now().getTime()),
  });
  const identityFor = (context: GraphContext, text: string) => {
    const known = identity(context);
    const key = MUTATION.test(text) ? context.replayKey?.() : undefined;
    if (!key) return known;
    return { ...known, [REPLAY_KEY_HEADER]: sealReplayKey(key, { token: known[PRINCIPAL_HEADER], secret }) };
  };
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [
      name,
      createRemoteExecutor({
        url: url.endsWith("/graphql") ? url : `${url}/graphql`,
        headers: (context, text) => ({ ...identityFor(context, text), ...traceHeaders() }),
        connectionParams: identity,
        restartMs: RESTART_MS,
        answered: ({ memory }, bytes) => bytes > COUNTED_BYTES && memory?.charge(ANSWER_COPIES * bytes),
        ...{ queryTimeoutMs: queryMs, mutationTimeoutMs: mutationMs },
        ...(name === INFERENCE && { keepsMutations: true, maxAnswerBytes: MAX_IMAGES_BYTES }),
      }),
    ]),
  );
}
