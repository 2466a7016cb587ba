import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { HoldsObserver } from "../accounts/holds.service.ts";
import type { RetentionObserver } from "../accounts/retention/retention.service.ts";
import { VERDICTS } from "../inference/evidence/tee-signature.ts";
import type { EndedRequest, RequestObserver } from "../inference/requests/request-observer.ts";
import type { DeliveryObserver } from "../webhooks/delivery-turn.ts";
import { registerSampledGauges, type Sampled } from "./sampled-gauges.ts";

const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_CHUNK_SECONDS = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 2.5, 5, 7.5, 10, 30, 60];
const HTTP_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 60];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
const BATCH = [1, 2, 4, 8, 16, 32, 64];
const MAX_MODELS = 100;
/** Clients choose operation names. The first 100 have their own label; the others share the buckets. */
const MAX_OPERATIONS = 100;
const OPERATION_BUCKETS = 16;
const PLAN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const PROVIDER = "0g";

/**
 * The metrics of this process, in Prometheus format. Inference metrics have the names of OpenTelemetry's GenAI
 * conventions, with `_` for `.` and the unit appended. Labels have a bounded number of values: the first 100 models
 * have their own name, the others are `other`; the first 100 GraphQL operation names too, the others are `hash-0` to
 * `hash-15` by their name.
 */
export class Metrics implements HoldsObserver, RequestObserver, RetentionObserver, DeliveryObserver {
  readonly #registry = new Registry();
  readonly #models = new Set<string>();
  readonly #duration: Histogram;
  readonly #firstChunk: Histogram;
  readonly #tokens: Histogram;
  readonly #tries: Histogram;
  readonly #admissions: Counter;
  readonly #admissionBatch: Histogram;
  readonly #settlementBatch: Histogram;
  readonly #evidence: Counter;
  readonly #removed: Counter;
  readonly #webhookAttempts: Histogram;
  readonly #webhooksDisabled: Counter;
  readonly #http: Histogram;
  readonly #subscriptions: Gauge;
  readonly #refusals: Counter;
  readonly #operations = new Set<string>();
  readonly #graph: Histogram;
  readonly #plans: Histogram;
  readonly #plannerRestarts: Counter;
  readonly #planRefusals: Counter;

  constructor() {
    const registers = [this.#registry];
    const labelNames = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"];
    collectDefaultMetrics({ register: this.#registry });
    this.#duration = new Histogram({
      name: "gen_ai_client_operation_duration_seconds",
      help: "gen_ai.client.operation.duration: duration of inference requests, from admission to settlement",
      labelNames: [...labelNames, "error_type"],
      buckets: SECONDS,
      registers,
    });
    this.#firstChunk = new Histogram({
      name: "gen_ai_client_operation_time_to_first_chunk_seconds",
      help: "gen_ai.client.operation.time_to_first_chunk: time to the provider's first byte",
      labelNames,
      buckets: FIRST_CHUNK_SECONDS,
      registers,
    });
    this.#tokens = new Histogram({
      name: "gen_ai_client_token_usage",
      help: "gen_ai.client.token.usage: tokens of one request as billed, by gen_ai.token.type",
      labelNames: [...labelNames, "gen_ai_token_type"],
      buckets: TOKENS,
      registers,
    });
    this.#tries = new Histogram({
      name: "zerograph_request_tries",
      help: "Number of providers tried per request",
      labelNames: ["gen_ai_operation_name"],
      buckets: [0, 1, 2, 3, 4, 5],
      registers,
    });
    this.#admissions = new Counter({
      name: "zerograph_admissions_total",
      help: "Admission attempts by outcome: admitted, or an error code",
      labelNames: ["outcome"],
      registers,
    });
    this.#admissionBatch = new Histogram({
      name: "zerograph_admission_batch_size",
      help: "Number of requests admitted by one statement",
      buckets: BATCH,
      registers,
    });
    this.#settlementBatch = new Histogram({
      name: "zerograph_settlement_batch_size",
      help: "Number of requests billed by one statement",
      buckets: BATCH,
      registers,
    });
    this.#evidence = new Counter({
      name: "zerograph_evidence_total",
      help: "Checked provider signatures by verdict: verified, or the reason of the failure",
      labelNames: ["verdict"],
      registers,
    });
    // The increase of a series that begins with its first event is 0, so no alert would fire.
    for (const verdict of VERDICTS) this.#evidence.inc({ verdict }, 0);
    this.#removed = new Counter({
      name: "zerograph_retention_rows_removed_total",
      help: "Rows that this process archived and removed, by kind: requests, or transfers of the ledger",
      labelNames: ["kind"],
      registers,
    });
    this.#webhookAttempts = new Histogram({
      name: "zerograph_webhook_attempt_duration_seconds",
      help: "Duration of attempts to deliver to webhooks by outcome: delivered, or the failure",
      labelNames: ["outcome"],
      buckets: HTTP_SECONDS,
      registers,
    });
    this.#webhooksDisabled = new Counter({
      name: "zerograph_webhooks_disabled_total",
      help: "Webhooks that were disabled, by the fault of their receiver",
      labelNames: ["reason"],
      registers,
    });
    this.#http = new Histogram({
      name: "http_server_request_duration_seconds",
      help: "http.server.request.duration: duration of HTTP requests, of streams until their end",
      labelNames: ["http_request_method", "http_route", "http_response_status_code"],
      buckets: HTTP_SECONDS,
      registers,
    });
    this.#graph = new Histogram({
      name: "zerograph_graphql_operation_duration_seconds",
      help: "Duration of GraphQL operations by name and outcome; of subscriptions until they are open",
      labelNames: ["graphql_operation_type", "graphql_operation_name", "outcome"],
      buckets: HTTP_SECONDS,
      registers,
    });
    this.#plans = new Histogram({
      name: "zerograph_graphql_planning_duration_seconds",
      help: "Duration of planning GraphQL operations that have no cached plan",
      buckets: PLAN_SECONDS,
      registers,
    });
    this.#refusals = new Counter({
      name: "zerograph_refusals_total",
      help: "Requests rejected as overloaded, by cause: event-loop delay, or memory held by requests",
      labelNames: ["cause"],
      registers,
    });
    for (const cause of ["event_loop", "memory"]) this.#refusals.inc({ cause }, 0);
    this.#plannerRestarts = new Counter({
      name: "zerograph_graphql_planner_restarts_total",
      help: "Restarts of the GraphQL planner process",
      registers,
    });
    this.#planRefusals = new Counter({
      name: "zerograph_graphql_plan_refusals_total",
      help: "GraphQL operations that were not planned, by reason",
      labelNames: ["reason"],
      registers,
    });
    this.#subscriptions = new Gauge({
      name: "zerograph_subscriptions_open",
      help: "Open GraphQL subscriptions, over WebSocket and server-sent events",
      registers,
    });
  }

  /** Counts a request that was rejected because the process is overloaded. */
  refused(cause: "event_loop" | "memory"): void {
    this.#refusals.inc({ cause });
  }

  /** `admitted`, or the code of the refusal. */
  admission(outcome: string): void {
    this.#admissions.inc({ outcome });
  }

  admissionBatch(size: number): void {
    this.#admissionBatch.observe(size);
  }

  settlementBatch(size: number): void {
    this.#settlementBatch.observe(size);
  }

  ended(request: EndedRequest): void {
    const { serviceType, outcome, inputTokens, outputTokens, firstByteMs, durationMs, tries } = request;
    const labels = {
      gen_ai_operation_name: serviceType === "chatbot" ? "chat" : serviceType.replaceAll("-", "_"),
      gen_ai_provider_name: PROVIDER,
      gen_ai_request_model: this.#modelOf(request.model),
    };
    const error = outcome === "completed" ? {} : { error_type: outcome };
    this.#duration.observe({ ...labels, ...error }, durationMs / 1_000);
    this.#tries.observe({ gen_ai_operation_name: labels.gen_ai_operation_name }, tries);
    if (firstByteMs !== undefined) this.#firstChunk.observe(labels, firstByteMs / 1_000);
    if (inputTokens !== undefined)
      this.#tokens.observe({ ...labels, gen_ai_token_type: "input" }, inputTokens);
    if (outputTokens !== undefined)
      this.#tokens.observe({ ...labels, gen_ai_token_type: "output" }, outputTokens);
  }

  evidence(verdict: string): void {
    this.#evidence.inc({ verdict });
  }

  rowsRemoved(kind: string, rows: number): void {
    this.#removed.inc({ kind }, rows);
  }

  webhookAttempt(outcome: string, durationMs: number): void {
    this.#webhookAttempts.observe({ outcome }, durationMs / 1_000);
  }

  webhookDisabled(reason: string): void {
    this.#webhooksDisabled.inc({ reason });
  }

  /** `route` is the pattern of the route, never the requested path. */
  http(request: { method: string; route: string; status: number; durationMs: number }): void {
    const { method, route, status, durationMs } = request;
    const labels = {
      http_request_method: method,
      http_route: route,
      http_response_status_code: String(status),
    };
    this.#http.observe(labels, durationMs / 1_000);
  }

  /** A GraphQL operation. `outcome` is `ok`, `opened`, or the code of its first failure. */
  graphOperation(operation: { type: string; name: string; outcome: string; durationMs: number }): void {
    const { type, name, outcome, durationMs } = operation;
    const labels = {
      graphql_operation_type: type,
      graphql_operation_name: this.#operationOf(name),
      outcome,
    };
    this.#graph.observe(labels, durationMs / 1_000);
  }

  /** An operation was planned. */
  graphPlan(durationMs: number): void {
    this.#plans.observe(durationMs / 1_000);
  }

  plannerRestarted(): void {
    this.#plannerRestarts.inc();
  }

  /** `reason` is a fixed word, never client input. */
  planRefused(reason: string): void {
    this.#planRefusals.inc({ reason });
  }

  /** Counts an open subscription; call the returned function when it ends. */
  subscription(): () => void {
    this.#subscriptions.inc();
    let isOpen = true;
    return () => {
      if (isOpen) this.#subscriptions.dec();
      isOpen = false;
    };
  }

  /** Registers the sources of the gauges that are read on each scrape. */
  sample(sources: Sampled): void {
    registerSampledGauges(this.#registry, sources);
  }

  /** All metrics as text, with their media type. */
  async text(): Promise<{ readonly type: string; readonly body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #operationOf(name: string): string {
    if (this.#operations.has(name)) return name;
    if (this.#operations.size >= MAX_OPERATIONS) return `hash-${hashOf(name) % OPERATION_BUCKETS}`;
    this.#operations.add(name);
    return name;
  }

  #modelOf(model: string): string {
    if (this.#models.has(model)) return model;
    if (this.#models.size >= MAX_MODELS) return "other";
    this.#models.add(model);
    return model;
  }
}

/** FNV-1a: the same name has the same label in every process. */
function hashOf(name: string): number {
  let hash = 2_166_136_261;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 16_777_619);
  return hash >>> 0;
}
