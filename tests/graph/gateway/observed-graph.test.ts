import { buildSchema, parse } from "graphql";
import { expect, test } from "vitest";
import type { Engine } from "../../../gateway/federation/engine/engine.ts";
import type { SubgraphExecutor } from "../../../gateway/federation/engine/subgraph-executor.ts";
import { type Observed, observeEngine, observeExecutor } from "../../../gateway/federation/observed-graph.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { Metrics } from "../../../src/metrics/metrics.ts";

const TEXT = `query Greeting { hello(to: "a word that people said") }`;

/** An engine that calls one subgraph twice, which answers after the given time. */
function start(answerMs: number, slowMs: number) {
  const lines: string[] = [];
  const metrics = new Metrics();
  const executor: SubgraphExecutor<Observed> = observeExecutor("greetings", {
    execute: async () => {
      await new Promise((resolve) => setTimeout(resolve, answerMs));
      return { data: { hello: "you" } };
    },
    subscribe: () => Promise.reject(new Error("nobody subscribes")),
    close: async () => {},
  });
  const bare: Engine<Observed> = {
    apiSchema: buildSchema("type Query { hello(to: String): String }"),
    executeIncrementally: (request) => bare.execute(request),
    async execute({ document, context }) {
      const request = { document, text: "", variables: {}, context, scope: {}, signal: undefined };
      await executor.execute(request);
      await executor.execute(request);
      return { data: { hello: "you" } };
    },
    subscribe: () => Promise.reject(new Error("nobody subscribes")),
  };
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  return { engine: observeEngine(bare, { metrics, log, slowMs }), metrics, lines };
}

test("a slow operation is logged with the subgraph requests of its plan, and without its text", async () => {
  const { engine, lines } = start(30, 20);
  await engine.execute({ document: parse(TEXT), context: {} });
  expect(lines).toHaveLength(1);
  const line = JSON.parse(lines[0] ?? "");
  expect(line).toMatchObject({ operation: "Greeting", type: "query", msg: "an operation was slow" });
  expect(line.plan.map(({ subgraph }: { subgraph: string }) => subgraph)).toEqual(["greetings", "greetings"]);
  expect(line.plan[1].atMs).toBeGreaterThanOrEqual(25);
  expect(line.hash).toMatch(/^[0-9a-f]{16}$/);
  expect(lines[0]).not.toContain("a word that people said");
});

test("a fast operation is not logged, and with 0 no operation is", async () => {
  for (const [answerMs, slowMs] of [
    [1, 10_000],
    [5, 0],
  ] as const) {
    const { engine, lines } = start(answerMs, slowMs);
    await engine.execute({ document: parse(TEXT), context: {} });
    expect(lines).toEqual([]);
  }
});

test("operations are counted by name and outcome, and names invented by clients give at most 116 labels", async () => {
  const { engine, metrics } = start(0, 0);
  await engine.execute({ document: parse(TEXT), context: {} });
  for (let n = 0; n < 300; n++)
    metrics.graphOperation({ type: "query", name: `Made${n}`, outcome: "ok", durationMs: 1 });
  const { body } = await metrics.text();
  const prefix = "zerograph_graphql_operation_duration_seconds_count";
  expect(body).toContain(
    `${prefix}{graphql_operation_type="query",graphql_operation_name="Greeting",outcome="ok"} 1`,
  );
  const names = new Set([...body.matchAll(/graphql_operation_name="([^"]+)"/g)].map(([, name]) => name));
  expect(names.size).toBeLessThanOrEqual(116);
  expect(names.has("Made98")).toBe(true);
  expect(names.has("Made250")).toBe(false);
  const counts = [...body.matchAll(new RegExp(`^${prefix}\\{.*\\} (\\d+)$`, "gm"))].map(([, n]) => Number(n));
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(301);
});
