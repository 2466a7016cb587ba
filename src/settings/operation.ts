import { z } from "zod";
import { addresses, httpUrl, ms, port, type Settings } from "./values.ts";

/** Overload protection, logs, metrics and traces. */
export const OPERATION_SETTINGS = {
  SHARE_PORT: {
    schema: z.enum(["on", "off"]).default("off"),
    about:
      "Whether several processes of one kind may listen on the same port (Linux only), so that a new process can take over without downtime",
    example: "on",
  },
  STREAM_KEEP_ALIVE_MS: {
    schema: ms.default(10_000),
    about:
      "How long a streamed response may be idle before a comment is sent, so that proxies and clients do not time out; the first comment also sends the response headers",
    example: "10000",
  },
  MAX_PROMPT_MIB: {
    schema: z.coerce.number().int().min(1).max(256).default(32),
    about:
      "Maximum body size of a request with a prompt (chat, response, message, token count, completion, embedding, rerank), MiB. Three times the size of a body is reserved from REQUEST_MEMORY_MIB, of which one account may use half, so this setting may be at most a sixth of REQUEST_MEMORY_MIB",
    example: "32",
  },
  REQUEST_MEMORY_MIB: {
    schema: z.coerce.number().int().min(128).max(65_536).default(256),
    about:
      "Memory that the requests of a process may hold, MiB: bodies, and responses until they are read. One account may use half of it. Requests without a verified credential may use a third per IP address, and half in total",
    example: "1024",
  },
  MAX_EVENT_LOOP_DELAY_MS: {
    schema: z.coerce.number().int().min(20).max(3_600_000).default(200),
    about:
      "Requests are rejected when the event loop delay (99th percentile over half a second) exceeds this, in ms",
    example: "500",
  },
  OPERATORS: {
    schema: addresses.optional(),
    about:
      "The wallets that operate this service, separated by commas: they see the state of all processes on the page Operations, and may act on it; unset: none",
    example: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  },
  GRAFANA_URL: {
    schema: httpUrl.optional(),
    about: "The Grafana that the page Operations links to; unset: no link",
    example: "https://grafana.example.com/d/zerograph",
  },
  STATUS_PAGE: {
    schema: z.enum(["on", "off"]).default("off"),
    about:
      "Whether /status and /status.json show everyone the state, the uptime and the incidents of models and providers in the last 30 days",
    example: "on",
  },
  METRICS_PORT: {
    schema: port.optional(),
    about:
      "The port of /metrics for Prometheus, and of /healthz and /readyz for every role; 0 picks a free one; unset: no metrics",
    example: "9464",
  },
  METRICS_HOST: {
    schema: z.string().min(1).default("127.0.0.1"),
    about:
      "The address METRICS_PORT listens on. The port requires no credential: if other machines can reach it, let only Prometheus and health checks do so",
    example: "0.0.0.0",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: httpUrl.optional(),
    about:
      "The OpenTelemetry collector that receives traces, over HTTP as JSON; unset: no traces. The other OTEL_EXPORTER_OTLP_* variables and OTEL_RESOURCE_ATTRIBUTES also apply",
    example: "http://127.0.0.1:4318",
  },
  OTEL_SERVICE_NAME: {
    schema: z.string().min(1).max(255).optional(),
    about: "The service name of this process in traces; unset: zerograph and its role",
    example: "zerograph-gateway",
  },
  OTEL_TRACES_SAMPLER: {
    schema: z
      .enum([
        "always_on",
        "always_off",
        "traceidratio",
        "parentbased_always_on",
        "parentbased_always_off",
        "parentbased_traceidratio",
      ])
      .default("parentbased_always_on"),
    about: "Which requests are traced",
    example: "parentbased_traceidratio",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z.coerce.number().min(0).max(1).default(1),
    about: "The sampling ratio, for the ratio samplers",
    example: "0.1",
  },
  SLOW_OPERATION_MS: {
    schema: z.coerce.number().int().min(0).max(3_600_000).default(2_000),
    about:
      "GraphQL operations that take longer are logged with their query plan and the duration of each fetch; 0 disables this",
    example: "500",
  },
  LOG_LEVEL: {
    schema: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    about: "The minimum level to log, to standard error",
    example: "info",
  },
} as const satisfies Settings;
