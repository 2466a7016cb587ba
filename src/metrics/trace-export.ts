import { randomUUID } from "node:crypto";
import type { MeterProvider } from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Config } from "../config.ts";
import type { Logger } from "../kernel/log.ts";
import { useTracer } from "../kernel/tracing.ts";
import { TraceOutage } from "./trace-outage.ts";
import { exportTimeoutOf, type ReadVariable, requireTraceVariables } from "./trace-variables.ts";

/** The settings of the trace exporter and sampler. */
export type TraceSettings = Pick<
  Config,
  "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_SERVICE_NAME" | "OTEL_TRACES_SAMPLER" | "OTEL_TRACES_SAMPLER_ARG"
>;

/**
 * Starts exporting the traces of this process over OTLP/HTTP (JSON), if a collector is configured. OpenTelemetry's SDK
 * reads the other standard variables itself (OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES and so on). The SDK
 * is loaded only then, and takes 50 to 250 ms. At most 2,048 spans are queued; more are dropped. Resolves with a
 * function that flushes the queue and stops within 5 s; undefined without a collector. Throws a `StartupError` for one
 * of these variables that the SDK could not use.
 */
export async function startTraces(
  settings: TraceSettings,
  service: string,
  { log, variable }: { readonly log: Logger; readonly variable: ReadVariable },
): Promise<(() => Promise<void>) | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: name = service } = settings;
  if (endpoint === undefined) return undefined;
  requireTraceVariables(variable);
  const timeoutMs = exportTimeoutOf(variable) ?? EXPORT_MS;
  const [api, sdk, { OTLPTraceExporter }, resources, { AsyncLocalStorageContextManager }, core] =
    await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/sdk-trace"),
      import("@opentelemetry/exporter-trace-otlp-http"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/context-async-hooks"),
      import("@opentelemetry/core"),
    ]);
  const own = resources.resourceFromAttributes({ "service.instance.id": randomUUID() });
  const detected = resources.detectResources({ detectors: [resources.envDetector] });
  const named = resources.resourceFromAttributes({ "service.name": name });
  const outage = new TraceOutage(new URL(endpoint).origin, log);
  const provider = new sdk.TracerProvider({
    resource: own.merge(detected).merge(named),
    sampler: samplerOf(sdk, settings),
    spanLimits: { attributeValueLengthLimit: MAX_TEXT, attributeCountLimit: 64, linkCountLimit: 128 },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: watched(new OTLPTraceExporter({ timeoutMillis: timeoutMs }), outage),
        selfObsMeterProvider: overflowMeter(api.createNoopMeter(), outage),
        scheduledDelayMillis: DELAY_MS,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  });
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  api.trace.setGlobalTracerProvider(provider);
  useTracer(provider.getTracer("zerograph"), () => outage.dropped);
  return async () => {
    useTracer(undefined);
    await Promise.race([
      // An export that fails is logged where it is counted.
      provider.shutdown().catch(() => {}),
      new Promise((resolve) => setTimeout(resolve, EXPORT_MS).unref()),
    ]);
  };
}

/** Reports the outcome of each export. */
function watched(exporter: SpanExporter, outage: TraceOutage): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === 0) outage.accepted();
        else outage.failed(spans.length, result.error);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

type Meter = ReturnType<MeterProvider["getMeter"]>;

/** The SDK reports spans that its full queue drops only to a meter. */
function overflowMeter(noop: Meter, outage: TraceOutage): MeterProvider {
  const add = (spans: number, attributes: Record<string, unknown> = {}) => {
    if (attributes["error.type"] === "queue_full") outage.overflowed(spans);
  };
  const meter: Meter = Object.assign(Object.create(noop), { createCounter: () => ({ add }) });
  return { getMeter: () => meter };
}

const MAX_TEXT = 1_024;
const EXPORT_MS = 5_000;
const DELAY_MS = 1_000;

type Sdk = typeof import("@opentelemetry/sdk-trace");

/** The sampler by its standard name (OTEL_TRACES_SAMPLER). */
function samplerOf(sdk: Sdk, { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: TraceSettings) {
  const [, isByParent, kind = name] = /^(parentbased_)?(.*)$/.exec(name) ?? [];
  const root =
    kind === "always_off"
      ? new sdk.AlwaysOffSampler()
      : kind === "traceidratio"
        ? new sdk.TraceIdRatioBasedSampler(share)
        : new sdk.AlwaysOnSampler();
  return isByParent ? new sdk.ParentBasedSampler({ root }) : root;
}
