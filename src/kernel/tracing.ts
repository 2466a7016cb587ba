import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";

/** Attributes of a span. They must be safe to disclose: no credentials, no prompts, no long client input. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** How a span is opened. `facts` is called only if the span is recorded. */
export type SpanOptions = {
  readonly kind?: keyof typeof KINDS;
  readonly facts?: () => SpanFacts;
  /** Only inside another span: periodic work would drown out everything else. */
  readonly onlyInside?: boolean;
};

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;
const LINKS = createContextKey("zerograph.links");

/**
 * Set once, by the process that exports traces. OpenTelemetry's own API is just as global; with this variable every
 * call below costs one comparison while tracing is off.
 */
let tracer: Tracer | undefined;

let readDropped: (() => number) | undefined;

/**
 * Turns tracing on, or with undefined off. The caller has set OpenTelemetry's globals; `dropped` counts the spans that
 * did not reach the collector.
 */
export function useTracer(made: Tracer | undefined, dropped?: () => number): void {
  tracer = made;
  readDropped = dropped;
}

/** The spans that did not reach the collector since the start; undefined while tracing is off. */
export function droppedSpans(): number | undefined {
  return readDropped?.();
}

/** Whether tracing is on. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/** An open span. It must be ended once. */
export class OpenSpan {
  readonly #span: Span;
  readonly #context: Context;

  constructor(span: Span, inside: Context) {
    this.#span = span;
    this.#context = trace.setSpan(inside, span);
  }

  /** Runs work whose spans are children of this one. */
  run<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  set(facts: SpanFacts): void {
    this.#span.setAttributes(facts as Attributes);
  }

  /** Marks the span as failed. `type` is an error code or class, never a message. */
  fail(type: string): void {
    this.#span.setAttribute("error.type", type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

/** Opens a span inside the active one, or inside `parent`. Undefined while tracing is off. */
export function openSpan(name: string, options: SpanOptions = {}, parent?: Context): OpenSpan | undefined {
  if (!tracer) return undefined;
  const inside = parent ?? context.active();
  if (options.onlyInside && !trace.getSpan(inside)) return undefined;
  const links = inside.getValue(LINKS) as Link[] | undefined;
  const attributes = options.facts?.() as Attributes | undefined;
  const span = tracer.startSpan(
    name,
    { kind: KINDS[options.kind ?? "internal"], ...(attributes && { attributes }), ...(links && { links }) },
    inside,
  );
  return new OpenSpan(span, links ? inside.deleteValue(LINKS) : inside);
}

/** Runs `work` in a new span, which fails if the work does; without tracing, only runs `work`. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: OpenSpan | undefined) => Promise<T>,
): Promise<T> {
  const span = openSpan(name, options);
  if (!span) return work(undefined);
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The name of a failure in a trace: its code if it has one, else its class. */
export function errorType(error: unknown): string {
  const { code, name } = Object(error);
  return typeof code === "string" ? code : typeof name === "string" ? name : "error";
}

/** The headers that make an outgoing request a part of the trace (W3C `traceparent`); empty without a trace. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  if (tracer) propagation.inject(context.active(), headers);
  return headers;
}

/** The context of the trace in these headers; a new trace without them. */
export function contextOf(headers: Readonly<Record<string, unknown>> | undefined): Context {
  return headers ? propagation.extract(ROOT_CONTEXT, headers) : ROOT_CONTEXT;
}

/** The context of a caller whose work is going to be done elsewhere, such as in a batch. Undefined without tracing. */
export function currentContext(): Context | undefined {
  return tracer && context.active();
}

/** Runs work on behalf of several callers: in the trace of the first, with links to those of the others. */
export function runForAll<T>(callers: readonly (Context | undefined)[], work: () => T): T {
  const [first, ...others] = callers;
  if (!tracer || !first) return work();
  const links = others.flatMap((other) => {
    const span = other && trace.getSpanContext(other);
    return span ? [{ context: span }] : [];
  });
  return context.with(links.length > 0 ? first.setValue(LINKS, links) : first, work);
}

/**
 * Runs work of a caller in a callback of something shared: a connection, for example, calls back in the context of the
 * request that opened it.
 */
export function runFor<T>(caller: Context | undefined, work: () => T): T {
  return caller ? context.with(caller, work) : work();
}

/** Starts work that outlives the caller: it belongs to no trace. Timers and callbacks that it sets keep to none. */
export function detached<T>(work: () => T): T {
  return tracer ? context.with(ROOT_CONTEXT, work) : work();
}

/** The ids that link a log line to its trace; empty without one. */
export function traceIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = tracer && trace.getSpanContext(context.active());
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
