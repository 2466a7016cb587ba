import { readFileSync } from "node:fs";
import { type ExecutionResult, parse } from "graphql";
import type { SubgraphExecutor } from "../../../../gateway/federation/engine/subgraph-executor.ts";
import { createLocalExecutor } from "../../../../gateway/federation/executor.local.ts";
import { routerSchemas } from "../../../../scripts/router-schema.ts";
import { quantile } from "../../load.ts";
import { answerParent } from "./dialogue.ts";
import { ENGINES, type EngineName, type Run } from "./engines.ts";
import { marketSubgraphs, marketSupergraph } from "./market.ts";
import { type Places, recordedExecutors } from "./recorded.ts";

/** The parent's request: one answer, or the rate of answers. */
export type EngineQuestion = { readonly operation: string; readonly pressMs?: number };

/** The rate of answers, and the processor time of each by who spent it. */
export type LoadResult = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMs: number;
  /** The peak resident memory of each of its processes so far, in MiB. */
  readonly peakMiB?: readonly number[];
};

/** One engine in its own process, so that none affects another's heap or compiled code. */
const { ENGINE = "", PLACES = "" } = process.env;
/** An engine that refuses a supergraph answers every request with that error. */
const run: Run = await (PLACES === "" ? openMarket() : openProduct(JSON.parse(PLACES))).catch(
  (error: unknown) => async () => {
    throw error;
  },
);
const documents = new Map<string, ReturnType<typeof parse>>();
answerParent(async ({ operation, pressMs }: EngineQuestion) => {
  const document = documents.get(operation) ?? parse(operation);
  documents.set(operation, document);
  return pressMs === undefined ? JSON.stringify(await run(document)) : runLoad(() => run(document), pressMs);
});
console.log("ready at ipc");

async function openMarket() {
  const executors: Record<string, SubgraphExecutor<object>> = {};
  for (const { name, schema } of marketSubgraphs())
    executors[name] = createLocalExecutor({ schema, contextOf: () => ({}) });
  return ENGINES[ENGINE as EngineName](marketSupergraph(), executors);
}

async function openProduct(places: Places) {
  const committed = new URL("../../../../schema/supergraph.graphql", import.meta.url);
  // It refuses a supergraph with guards, so it is given one without: the subgraphs have their own.
  const supergraphSdl =
    ENGINE === "@apollo/gateway"
      ? routerSchemas(places.urls).get("supergraph.graphql")
      : readFileSync(committed, "utf8");
  return ENGINES[ENGINE as EngineName](supergraphSdl ?? "", recordedExecutors(places));
}

async function runLoad(ask: () => unknown, durationMs: number): Promise<LoadResult> {
  const latencies: number[] = [];
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  for (let before = startedMs; before - startedMs < durationMs; ) {
    const { data } = (await ask()) as ExecutionResult;
    const after = performance.now();
    if (!data) throw new Error(`${ENGINE} has no answer`);
    latencies.push(after - before);
    before = after;
  }
  const perSecond = (latencies.length / (performance.now() - startedMs)) * 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuMs = (user + system) / 1_000 / latencies.length;
  latencies.sort((one, other) => one - other);
  return { cpuMs, perSecond, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
}
