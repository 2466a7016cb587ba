// @module-tag large
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startMetrics } from "../../gateway/http/metrics.ts";
import type { Phase } from "../../gateway/roles/start.ts";
import { VERDICTS } from "../../src/inference/evidence/tee-signature.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { readinessOf } from "../../src/metrics/readiness.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask, followSocket } from "../support/clients/graph-client.ts";
import { scaled } from "../support/machine.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack({ METRICS_PORT: "0" });
const QUESTION = "a question that nobody else may read";

let place: { origin: string; close(): Promise<void> };
let phase: Phase = "serving";
beforeAll(async () => {
  const { app } = stack();
  if (!app.metrics) throw new Error("METRICS_PORT is set, so there are metrics");
  place = await startMetrics(app, app.metrics, { host: "127.0.0.1", port: 0, phase: () => phase });
});
afterAll(() => place.close());

async function scrape(): Promise<string> {
  const reply = await fetch(`${place.origin}/metrics`);
  expect([reply.status, reply.headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^text\/plain/),
  ]);
  return reply.text();
}

/** The value of one series; undefined when no series has these labels. */
async function seriesOf(
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number | undefined> {
  const line = (await scrape())
    .split("\n")
    .filter((text) => text.startsWith(`${name}{`) || text.startsWith(`${name} `))
    .find((text) => Object.entries(labels).every(([label, value]) => text.includes(`${label}="${value}"`)));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ") + 1));
}

async function chat(secret: string, body: object = {}): Promise<Response> {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: "user", content: QUESTION }],
      max_tokens: 7,
      ...body,
    }),
  });
  await reply.clone().text();
  return reply;
}

describe("/metrics", () => {
  test("is on its own loopback port and not on the public one", async () => {
    expect(new URL(place.origin).hostname).toBe("127.0.0.1");
    for (const path of ["/metrics", "/debug", "/v1/metrics"])
      expect((await fetch(stack().origin + path)).status).toBe(404);
  });

  test("has no circuit of a provider to which the process has sent nothing", async () => {
    const provider = stack().app.catalogue.providers()[0]?.address ?? "";
    expect(await seriesOf("zerograph_provider_circuit_state", { provider })).toBeUndefined();
  });

  test("counts a request by OpenTelemetry's names for GenAI", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    expect((await chat(secret)).status).toBe(200);
    expect((await chat(secret, { stream: true })).status).toBe(200);
    const labels = {
      gen_ai_operation_name: "chat",
      gen_ai_provider_name: "0g",
      gen_ai_request_model: MODEL,
    };
    const count = (name: string, more = {}) => seriesOf(`${name}_count`, { ...labels, ...more });
    expect(await count("gen_ai_client_operation_duration_seconds")).toBe(2);
    expect(await count("gen_ai_client_operation_time_to_first_chunk_seconds")).toBe(2);
    expect(await count("gen_ai_client_token_usage", { gen_ai_token_type: "input" })).toBe(2);
    const output = { ...labels, gen_ai_token_type: "output" };
    expect(await seriesOf("gen_ai_client_token_usage_sum", output)).toBe(14);
    expect(await seriesOf("zerograph_request_tries_sum", { gen_ai_operation_name: "chat" })).toBe(2);
    expect(await seriesOf("zerograph_admissions_total", { outcome: "admitted" })).toBe(2);
    expect(await seriesOf("zerograph_admission_batch_size_count")).toBe(2);
    expect(await seriesOf("zerograph_settlement_batch_size_count")).toBe(2);
    const route = { http_request_method: "POST", http_route: "/v1/chat/completions" };
    await until(
      async () =>
        (await seriesOf("http_server_request_duration_seconds_count", {
          ...route,
          http_response_status_code: "200",
        })) === 2,
    );
  });

  test("counts refusals and failures by their code", async () => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    expect((await chat(secret)).status).toBe(402);
    expect(await seriesOf("zerograph_admissions_total", { outcome: "insufficient_balance" })).toBe(1);
    const rich = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = { instead: { status: 400, contentType: "application/json", body: "{}" } };
    expect((await chat(rich.secret)).status).toBe(400);
    stack().provider.behaviour = {};
    expect(
      await seriesOf("gen_ai_client_operation_duration_seconds_count", { error_type: "invalid_body" }),
    ).toBe(1);
  });

  test("reports open holds and lags at the time of the scrape", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    // What the tests before hold in advance is returned when it has been idle.
    await until(async () => (await seriesOf("zerograph_holds_open")) === 0);
    const seen = Promise.withResolvers<void>();
    stack().provider.behaviour = { after: seen.promise };
    const running = chat(secret);
    await until(async () => (await seriesOf("zerograph_holds_open")) === 1);
    seen.resolve();
    stack().provider.behaviour = {};
    await running;
    await until(async () => (await seriesOf("zerograph_holds_open")) === 0);
    expect(await seriesOf("zerograph_event_relay_lag_seconds")).toBeGreaterThanOrEqual(0);
    await until(async () => (await seriesOf("zerograph_watcher_lag_blocks", { watcher: "deposits" })) === 0);
    expect(await seriesOf("zerograph_watcher_up", { watcher: "deposits" })).toBe(1);
    expect(await seriesOf("zerograph_jobs", { state: "waiting" })).toBe(0);
    expect(await seriesOf("zerograph_jobs_oldest_waiting_seconds")).toBe(0);
    expect(await seriesOf("zerograph_database_waiting")).toBe(0);
    const provider = stack().app.catalogue.providers()[0]?.address ?? "";
    expect(await seriesOf("zerograph_provider_circuit_state", { provider })).toBe(0);
    expect(await seriesOf("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
  });

  test("counts open subscriptions until they end", async () => {
    const { account } = await seedAccount(stack().app.database, 1n);
    const { secret } = await stack().app.managementKeys.create(account, "reader", ["account:read"]);
    expect(await seriesOf("zerograph_subscriptions_open")).toBe(0);
    const followed = await followSocket(stack().origin, secret, "subscription { balanceChanged { id } }");
    await until(async () => (await seriesOf("zerograph_subscriptions_open")) === 1);
    await followed.stop();
    await until(async () => (await seriesOf("zerograph_subscriptions_open")) === 0);
  });

  test("has no label with values from clients", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    const before = (await scrape()).split("\n").length;
    for (let n = 0; n < 20; n++) {
      await chat(secret, { model: `made-up-${n}` });
      await fetch(`${stack().origin}/made/up/${n}?key=${n}`);
      await fetch(`${stack().origin}/v1/api-keys/made-up-${n}`, { method: "DELETE" });
      await ask(stack().origin, undefined, `{ madeUp${n} }`);
    }
    const text = await scrape();
    expect(text.split("\n").length - before).toBeLessThan(100);
    for (const hidden of ["made-up", "/made/", "madeUp", secret, QUESTION])
      expect(text).not.toContain(hidden);
  });

  test("distinguishes the first 100 models, and no more", async () => {
    const metrics = new Metrics();
    for (let n = 0; n < 300; n++)
      metrics.ended({
        serviceType: "text-to-image",
        model: `model-${n}`,
        outcome: "completed",
        inputTokens: undefined,
        outputTokens: undefined,
        tries: 1,
        firstByteMs: undefined,
        durationMs: 1,
      });
    const { body } = await metrics.text();
    const models = new Set([...body.matchAll(/gen_ai_request_model="([^"]+)"/g)].map(([, model]) => model));
    expect([models.size, models.has("other"), models.has("model-99"), models.has("model-100")]).toEqual([
      101,
      true,
      true,
      false,
    ]);
  });

  test("begins the counters of alerts at 0, so that the first event increases them", async () => {
    const { body } = await new Metrics().text();
    for (const verdict of VERDICTS)
      expect(body).toContain(`zerograph_evidence_total{verdict="${verdict}"} 0`);
    for (const cause of ["event_loop", "memory"])
      expect(body).toContain(`zerograph_refusals_total{cause="${cause}"} 0`);
  });

  test("omits what cannot be read, and still answers", async () => {
    const metrics = new Metrics();
    metrics.sample({
      holdsOpen: () => Promise.reject(new Error("the database is gone")),
      replicaLagSeconds: () => undefined,
      clockOffsetSeconds: () => -7_200,
      relayLagSeconds: () => new Promise(() => {}),
      takenPositions: () => 0,
      droppedSpans: () => 7,
      jobs: () => Promise.reject(new Error("the database is gone")),
      webhookLagSeconds: async () => 0,
      databasePool: () => ({ open: 10, idle: 2, waiting: 5 }),
      redis: async () => false,
      walletBalance: () => Promise.reject(new Error("the chain is gone")),
      eventStreamsOpen: () => 3,
      requestMemoryBytes: () => 4_096,
      eventLoopDelaySeconds: () => 0.25,
      watchers: async () => [
        { watcher: "files", lagBlocks: 3, advances: true },
        { watcher: "deposits", lagBlocks: undefined, advances: false },
      ],
      circuits: () => [
        { provider: "0x1", state: "closed" },
        { provider: "0x1", state: "half-open" },
        { provider: "0x1", state: "closed" },
      ],
    });
    const { body } = await metrics.text();
    const values = body.split("\n").filter((line) => !line.startsWith("#"));
    for (const name of [
      "zerograph_holds_open",
      "zerograph_event_relay_lag_seconds",
      "zerograph_database_replica_lag_seconds",
      "zerograph_jobs",
      "zerograph_wallet_balance_neuron",
    ])
      expect(values.filter((line) => line.startsWith(name))).toEqual([]);
    expect(body).toContain('zerograph_watcher_lag_blocks{watcher="files"} 3');
    expect(body).not.toContain('zerograph_watcher_lag_blocks{watcher="deposits"}');
    expect(body).toContain('zerograph_watcher_up{watcher="files"} 1');
    expect(body).toContain('zerograph_watcher_up{watcher="deposits"} 0');
    expect(body).toContain('zerograph_database_connections{state="busy"} 8');
    expect(body).toContain("zerograph_database_waiting 5");
    expect(body).toContain("zerograph_redis_up 0");
    expect(body).toContain("zerograph_trace_spans_dropped 7");
    expect(body).toContain("zerograph_clock_offset_seconds -7200");
    expect(body).toContain('zerograph_provider_circuit_state{provider="0x1"} 1');
  });
});

describe("health", () => {
  test("/healthz says that the process is alive, on both ports", async () => {
    for (const origin of [stack().origin, place.origin]) {
      const reply = await fetch(`${origin}/healthz`);
      expect([reply.status, await reply.json()]).toEqual([200, { status: "ok" }]);
    }
  });

  test("/readyz names every part", async () => {
    const parts = { database: "ok", events: "ok", providers: "ok", chain: "ok", storage: "ok" };
    for (const [origin, own] of [[stack().origin], [place.origin, { process: "ok" }]] as const) {
      const reply = await fetch(`${origin}/readyz`);
      expect([reply.status, await reply.json(), reply.headers.get("cache-control")]).toEqual([
        200,
        { status: "ready", parts: { ...parts, ...own } },
        "no-store",
      ]);
    }
  });

  test("a failed or hanging part is named within 2 s, and its reason is not published", async () => {
    const startedMs = performance.now();
    const readiness = await readinessOf({
      database: { required: true, check: () => new Promise(() => {}) },
      events: { required: false, check: () => Promise.reject(new Error("redis://user:password@host")) },
      providers: { required: false, check: async () => "none known" },
    });
    expect(readiness).toEqual({
      ready: false,
      parts: { database: "unreachable", events: "unreachable", providers: "none known" },
    });
    expect(performance.now() - startedMs).toBeLessThan(scaled(4_000));
    expect(
      (await readinessOf({ events: { required: false, check: () => Promise.reject(new Error()) } })).ready,
    ).toBe(true);
  });
});

test("the log of failures contains neither the prompt nor the key, whatever a provider repeats", async () => {
  const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
  const error = { message: `cannot answer "${QUESTION}" for ${secret}`, code: "overloaded" };
  for (const [status, body] of [
    [500, JSON.stringify({ error })],
    [200, JSON.stringify({ error })],
    [200, QUESTION],
    [503, QUESTION],
  ] as const) {
    stack().provider.behaviour = { instead: { status, contentType: "application/json", body } };
    expect((await chat(secret)).status).toBeGreaterThanOrEqual(500);
    expect((await chat(secret, { stream: true })).status).toBeGreaterThanOrEqual(500);
  }
  stack().provider.behaviour = {};
  await ask(stack().origin, secret, `query { request(id: "${QUESTION}") { id } }`);
  const lines = stack().logged();
  expect(lines).toContain("a provider failed");
  expect(lines).toContain("overloaded");
  expect(lines).not.toContain(QUESTION);
  expect(lines).not.toContain(secret.slice(4));
  for (const line of lines.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("level");
});

test("on the port of metrics, a process is ready only while it serves", async () => {
  const known: unknown[] = [];
  for (phase of ["starting", "serving", "shutting down"] as const) {
    const reply = await fetch(`${place.origin}/readyz`);
    const { status, parts } = (await reply.json()) as { status: string; parts: { process: string } };
    known.push([reply.status, status, parts.process]);
  }
  phase = "serving";
  expect(known).toEqual([
    [503, "not ready", "starting"],
    [200, "ready", "ok"],
    [503, "not ready", "shutting down"],
  ]);
});
