import { errorType, type OpenSpan, openSpan } from "../../kernel/tracing.ts";
import type { Usage } from "../billing/pricing.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import { endpointOf, type Provider, type ServiceType } from "../providers/provider.ts";

const PROVIDER = "0g";

/** The part of a bill that a trace records. */
type Settled = {
  readonly ending: {
    readonly outcome: string;
    readonly usage?: Usage | undefined;
    readonly errorCode?: string;
  };
  readonly provider: Provider;
  readonly firstByteMs: number | undefined;
};

/**
 * The span of one inference request, following OpenTelemetry's GenAI conventions, from admission to bill, with a child
 * span per attempt at a provider. It records models, tokens, addresses and outcomes, but no content of prompts or
 * answers. Trace context is not sent to providers: they are unrelated to each other and to our clients.
 */
export class RequestTrace {
  readonly #span: OpenSpan;
  #attempt: OpenSpan | undefined;
  #attempts = 0;

  private constructor(span: OpenSpan) {
    this.#span = span;
  }

  /**
   * Runs the admission of a request in the request's span, which ends here if the admission fails. The trace is
   * undefined when tracing is off.
   */
  static async admit<T>(
    { serviceType, model }: { readonly serviceType: ServiceType; readonly model: string },
    work: (trace: RequestTrace | undefined) => Promise<T>,
  ): Promise<T> {
    const trace = RequestTrace.#open(serviceType, model);
    if (!trace) return work(undefined);
    try {
      return await trace.run(() => work(trace));
    } catch (error) {
      trace.#refuse(error);
      throw error;
    }
  }

  static #open(serviceType: ServiceType, model: string): RequestTrace | undefined {
    const operation = operationOf(serviceType);
    const facts = () => ({
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": PROVIDER,
      "gen_ai.request.model": model,
    });
    // The model is only the client's claim until it is known to exist, so it is not part of the span name.
    const span = openSpan(operation, { kind: "client", facts });
    return span && new RequestTrace(span);
  }

  /** Runs work that belongs to the request but to no attempt. */
  run<T>(work: () => T): T {
    return this.#span.run(work);
  }

  beginAttempt(provider: Provider): void {
    const resent = this.#attempts++;
    this.#attempt = this.#span.run(() =>
      openSpan("POST", {
        kind: "client",
        facts: () => ({
          "http.request.method": "POST",
          ...addressOf(provider),
          "zerograph.provider": provider.address,
          ...(resent > 0 && { "http.request.resend_count": resent }),
        }),
      }),
    );
  }

  endAttempt(outcome: string, error: unknown): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    if (error instanceof ProviderFailure) {
      attempt?.fail(error.kind);
      attempt?.set({ "http.response.status_code": error.upstreamStatus });
    } else if (outcome === "answered") attempt?.set({ "http.response.status_code": 200 });
    else attempt?.fail(error === undefined ? outcome : errorType(error));
    attempt?.end();
  }

  /** Ends the span of an admitted request that continues as a job, possibly in another process. */
  handOver(): void {
    this.#span.end();
  }

  #refuse(error: unknown): void {
    this.#span.fail(errorType(error));
    this.#span.end();
  }

  settled({ ending, provider, firstByteMs }: Settled): void {
    const { outcome, usage, errorCode } = ending;
    const tokens = usage && "inputTokens" in usage ? usage : undefined;
    this.#span.set({
      "gen_ai.response.model": provider.model,
      "gen_ai.usage.input_tokens": tokens?.inputTokens,
      "gen_ai.usage.output_tokens": tokens?.outputTokens,
      "zerograph.provider": provider.address,
      "zerograph.time_to_first_byte_ms": firstByteMs,
    });
    if (outcome !== "completed") this.#span.fail(outcome === "failed" ? (errorCode ?? outcome) : outcome);
    this.#span.end();
  }
}

function operationOf(serviceType: ServiceType): string {
  return serviceType === "chatbot" ? "chat" : serviceType.replaceAll("-", "_");
}

function addressOf(provider: Provider): Record<string, string | number> {
  const { hostname, port, protocol } = new URL(endpointOf(provider, "/"));
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}
