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

/** What a span says. Only what a stranger may read: no credential, no prompt, nothing that a client wrote at length. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** How a span is opened. `facts` are asked for only when it is recorded. */
export type SpanOptions = {
  readonly kind?: keyof typeof KINDS;
  readonly facts?: () => SpanFacts;
  /** Only within another: what runs by itself all the time would bury all else. */
  readonly onlyInside?: boolean;
};

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;
const LINKS = createContextKey("zerograph.links");

/**
 * Set once, by the process that exports traces. OpenTelemetry's own API is as global as this; what is ours here lets
 * every call below cost one comparison while there are no traces.
 */
let tracer: Tracer | undefined;

/** Begins, or with undefined ends, that spans are made. The caller has set OpenTelemetry's globals. */
export function useTracer(made: Tracer | undefined): void {
  tracer = made;
}

/** Whether spans are made at all. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/** A span that is open. It must be ended once. */
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

  /** Marks it as failed. `type` is an error code or a class of errors, never a message. */
  fail(type: string): void {
    this.#span.setAttribute("error.type", type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

/** Opens a span inside the one that is active, or inside `parent`. Undefined when there are no traces. */
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

/** Runs `work` in a span of its own, which fails when it does; without traces it is only called. */
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

/** What a failure is called in a trace: its code where it has one, else its class. */
export function errorType(error: unknown): string {
  const { code, name } = Object(error);
  return typeof code === "string" ? code : typeof name === "string" ? name : "error";
}

/** The headers that make what is asked with them a part of the trace (W3C `traceparent`); none without one. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  if (tracer) propagation.inject(context.active(), headers);
  return headers;
}

/** Where a trace goes on whose headers these are; a new one begins without them. */
export function contextOf(headers: Readonly<Record<string, unknown>> | undefined): Context {
  return headers ? propagation.extract(ROOT_CONTEXT, headers) : ROOT_CONTEXT;
}

/** Who asks for something that is going to be done for several at once. Undefined without traces. */
export function currentContext(): Context | undefined {
  return tracer && context.active();
}

/** Does for several what they asked for: in the trace of the first, with links to those of the others. */
export function runForAll<T>(askers: readonly (Context | undefined)[], work: () => T): T {
  const [first, ...others] = askers;
  if (!tracer || !first) return work();
  const links = others.flatMap((other) => {
    const span = other && trace.getSpanContext(other);
    return span ? [{ context: span }] : [];
  });
  return context.with(links.length > 0 ? first.setValue(LINKS, links) : first, work);
}

/** Begins what goes on by itself, whoever set it off: it belongs to no trace. */
export function detached<T>(work: () => T): T {
  return tracer ? context.with(ROOT_CONTEXT, work) : work();
}

/** The ids that join a line of the log to its trace; nothing without one. */
export function traceIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = tracer && trace.getSpanContext(context.active());
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
