import QuickLru from "quick-lru";
import type { Clock } from "../../../kernel/clock.ts";
import type { ProviderState } from "../../routing/choice-context.ts";
import type { FailureKind, ProviderFailure } from "../exchange/provider-failure.ts";
import type { Provider } from "../provider.ts";

type Dependencies = {
  readonly clock: Clock;
  /** How long a circuit stays open initially, milliseconds; doubles per failed probe, to at most four times. */
  readonly coolDownMs: number;
  /** Is called for each request, so it must be fast and not throw. */
  readonly observer?: HealthObserver;
};

/** Observes the requests to providers. */
export type HealthObserver = {
  /** The first byte of an answer arrived after `ms` milliseconds. */
  firstByte(provider: Provider, ms: number): void;
  /** A request ended with an answer or a failure of the provider; other ends are not reported. */
  ended(provider: Provider, isAnswered: boolean): void;
};

/** The health of a provider, from the requests of this process. */
export type ProviderHealth = ProviderState & {
  /** The fraction of recent requests that it answered, 0 to 1; undefined before the first. */
  readonly uptime: number | undefined;
  /** Remaining time of the pause that it requested, milliseconds. */
  readonly restMs: number;
};

/** A provider's model that this process sends no requests to, or that failed recently. Times are ISO 8601. */
export type CircuitReport = {
  /** The address of the provider, in lower case. */
  readonly provider: string;
  readonly model: string;
  readonly state: ProviderState["circuit"];
  /** When the circuit opened; null while it is closed. */
  readonly openedAt: string | null;
  /** The end of the pause that the provider or an operator requested; null if there is none. */
  readonly restsUntil: string | null;
  /** Its last failure that counts against it; null if there was none. */
  readonly lastFailure: { readonly kind: FailureKind; readonly at: string } | null;
};

/** One request to a provider. It must end with `succeed`, `fail` or `drop`. */
export type Trial = {
  /** Records the arrival of the first byte. */
  firstByte(): void;
  /** Records a whole answer of `tokens` tokens, which has just ended. */
  answered(tokens: number): void;
  succeed(): void;
  fail(failure: ProviderFailure): void;
  /** Ends the request for a reason unrelated to the provider. */
  drop(): void;
};

type Circuit = {
  failures: number;
  /** Monotonic time until which it is open; undefined while it is closed. */
  openUntilMs: number | undefined;
  coolDowns: number;
  /** Requests in flight that began while it was open: the probe, and those for which there was no other provider. */
  probes: number;
  restUntilMs: number;
  latencyMs: number | undefined;
  latencyAtMs: number;
  tokensPerSecond: number | undefined;
  tokensPerSecondAtMs: number;
  uptime: number | undefined;
  inFlight: number;
  openedAtMs: number | undefined;
  lastFailure: { readonly kind: FailureKind; readonly atMs: number } | undefined;
};

const REMEMBERED_PROVIDERS = 10_000;
const FAILURES_TO_OPEN = 3;
const MAX_COOL_DOWNS = 4;
/** The weight of the newest sample. */
const LATENCY_WEIGHT = 0.2;
const UPTIME_WEIGHT = 0.05;
const LATENCY_FRESH_MS = 600_000;
/** The duration of a shorter answer says little about the speed of a provider. */
const MIN_MEASURED_TOKENS = 16;
const MAX_REST_MS = 60_000;
/** How long a failure is reported while the circuit is closed. */
const REPORTED_MS = 3_600_000;
/** A provider that is busy, rejects a field or gives a different answer is not broken. */
const HARMLESS: ReadonlySet<FailureKind> = new Set(["busy", "field", "differs"]);

/**
 * Tracks the health of providers: a circuit breaker, moving averages of the time to the first byte, of the tokens per
 * second and of the fraction of answered requests, and the requests in flight. In memory and per process; a provider with a new URL starts fresh.
 */
export class HealthService {
  readonly #dependencies: Dependencies;
  readonly #circuits = new QuickLru<string, Circuit>({ maxSize: REMEMBERED_PROVIDERS });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The current health of a provider. */
  of(provider: Provider): ProviderHealth {
    const known = this.#circuits.get(keyOf(provider));
    if (!known) return UNKNOWN;
    const nowMs = this.#dependencies.clock.monotonicMs();
    const isFresh = nowMs - known.latencyAtMs < LATENCY_FRESH_MS;
    return {
      circuit: circuitOf(known, nowMs),
      isResting: nowMs < known.restUntilMs,
      restMs: Math.max(0, known.restUntilMs - nowMs),
      latencyMs: isFresh ? known.latencyMs : undefined,
      tokensPerSecond:
        nowMs - known.tokensPerSecondAtMs < LATENCY_FRESH_MS ? known.tokensPerSecond : undefined,
      inFlight: known.inFlight,
      uptime: known.uptime,
    };
  }

  /** The circuit of a provider; undefined if this process has sent it no requests. */
  circuitOf(provider: Provider): ProviderState["circuit"] | undefined {
    const known = this.#circuits.peek(keyOf(provider));
    return known && circuitOf(known, this.#dependencies.clock.monotonicMs());
  }

  /** Records the start of a request to a provider. */
  begin(provider: Provider): Trial {
    const circuit = this.#circuitOf(provider);
    const sinceMs = this.#dependencies.clock.monotonicMs();
    const isProbe = circuit.openUntilMs !== undefined;
    if (isProbe) circuit.probes++;
    circuit.inFlight++;
    let isOpen = true;
    const end = (record: () => void) => {
      if (!isOpen) return;
      isOpen = false;
      circuit.inFlight--;
      if (isProbe) circuit.probes--;
      record();
    };
    return {
      firstByte: () => this.#recordLatency(provider, circuit, sinceMs),
      answered: (tokens) => this.#recordSpeed(circuit, sinceMs, tokens),
      succeed: () =>
        end(() => {
          recordSuccess(circuit);
          this.#dependencies.observer?.ended(provider, true);
        }),
      fail: (failure) =>
        end(() => {
          this.#recordFailure(circuit, failure);
          const isHarmless = HARMLESS.has(failure.kind) || failure.lacksCredential;
          if (!isHarmless) this.#dependencies.observer?.ended(provider, false);
        }),
      drop: () => end(() => {}),
    };
  }

  /** Which of these offers this process sends no requests to, or saw failing in the last hour. */
  report(providers: readonly Provider[]): readonly CircuitReport[] {
    return providers.flatMap((provider) => {
      const known = this.#circuits.peek(keyOf(provider));
      return known ? this.#reportOf(provider, known) : [];
    });
  }

  /** Sends requests to this offer again: its circuit is closed and its pause is over. What was measured is kept. */
  close(provider: Provider): void {
    const known = this.#circuits.peek(keyOf(provider));
    if (!known) return;
    closeCircuit(known);
    known.restUntilMs = 0;
    known.lastFailure = undefined;
  }

  /** Sends no requests to this offer for `ms` milliseconds. */
  rest(provider: Provider, ms: number): void {
    this.#circuitOf(provider).restUntilMs = this.#dependencies.clock.monotonicMs() + ms;
  }

  #reportOf({ address, model }: Provider, circuit: Circuit): readonly CircuitReport[] {
    const { clock } = this.#dependencies;
    const [monotonicMs, nowMs] = [clock.monotonicMs(), clock.now().getTime()];
    const { restUntilMs, openedAtMs, lastFailure } = circuit;
    const state = circuitOf(circuit, monotonicMs);
    const restMs = restUntilMs - monotonicMs;
    const isRecent = lastFailure !== undefined && nowMs - lastFailure.atMs < REPORTED_MS;
    if (state === "closed" && restMs <= 0 && !isRecent) return [];
    return [
      {
        provider: address.toLowerCase(),
        model,
        state,
        openedAt: openedAtMs === undefined ? null : isoOf(openedAtMs),
        restsUntil: restMs > 0 ? isoOf(nowMs + restMs) : null,
        lastFailure: lastFailure ? { kind: lastFailure.kind, at: isoOf(lastFailure.atMs) } : null,
      },
    ];
  }

  #circuitOf(provider: Provider): Circuit {
    const key = keyOf(provider);
    const known = this.#circuits.get(key);
    if (known) return known;
    const made: Circuit = {
      failures: 0,
      openUntilMs: undefined,
      coolDowns: 1,
      probes: 0,
      restUntilMs: 0,
      latencyMs: undefined,
      latencyAtMs: 0,
      tokensPerSecond: undefined,
      tokensPerSecondAtMs: 0,
      uptime: undefined,
      inFlight: 0,
      openedAtMs: undefined,
      lastFailure: undefined,
    };
    this.#circuits.set(key, made);
    return made;
  }

  #recordLatency(provider: Provider, circuit: Circuit, sinceMs: number): void {
    const nowMs = this.#dependencies.clock.monotonicMs();
    this.#dependencies.observer?.firstByte(provider, nowMs - sinceMs);
    circuit.latencyMs = moved(circuit.latencyMs, nowMs - sinceMs, LATENCY_WEIGHT);
    circuit.latencyAtMs = nowMs;
  }

  #recordSpeed(circuit: Circuit, sinceMs: number, tokens: number): void {
    const nowMs = this.#dependencies.clock.monotonicMs();
    if (tokens < MIN_MEASURED_TOKENS) return;
    const sample = (tokens * 1_000) / Math.max(1, nowMs - sinceMs);
    circuit.tokensPerSecond = moved(circuit.tokensPerSecond, sample, LATENCY_WEIGHT);
    circuit.tokensPerSecondAtMs = nowMs;
  }

  #recordFailure(circuit: Circuit, failure: ProviderFailure): void {
    const { kind, retryAfterMs } = failure;
    const nowMs = this.#dependencies.clock.monotonicMs();
    // A request that was in flight when an operator paused the provider does not end that pause.
    if (retryAfterMs !== undefined)
      circuit.restUntilMs = Math.max(circuit.restUntilMs, nowMs + Math.min(retryAfterMs, MAX_REST_MS));
    if (HARMLESS.has(kind)) return;
    // A request that was not sent opens the circuit, and says nothing about the provider.
    if (!failure.lacksCredential) circuit.uptime = moved(circuit.uptime, 0, UPTIME_WEIGHT);
    circuit.failures++;
    const atMs = this.#dependencies.clock.now().getTime();
    circuit.lastFailure = { kind, atMs };
    const isKnownBad = circuit.openUntilMs !== undefined;
    if (!isKnownBad && circuit.failures < FAILURES_TO_OPEN && kind !== "forbidden_address") return;
    // Requests that began before the circuit opened may fail later: they do not prolong it.
    if (isKnownBad && nowMs < (circuit.openUntilMs ?? 0)) return;
    if (isKnownBad) circuit.coolDowns = Math.min(circuit.coolDowns * 2, MAX_COOL_DOWNS);
    circuit.openUntilMs = nowMs + this.#dependencies.coolDownMs * circuit.coolDowns;
    circuit.openedAtMs ??= atMs;
  }
}

const UNKNOWN: ProviderHealth = {
  circuit: "closed",
  isResting: false,
  restMs: 0,
  latencyMs: undefined,
  tokensPerSecond: undefined,
  inFlight: 0,
  uptime: undefined,
};

/** The keys of offers, which are looked up several times per request: the hash of a new string is not cached. */
const keys = new WeakMap<Provider, string>();

function keyOf(provider: Provider): string {
  const known = keys.get(provider);
  if (known !== undefined) return known;
  const { address, url, model } = provider;
  const key = `${address} ${url} ${model}`;
  keys.set(provider, key);
  return key;
}

function circuitOf({ openUntilMs, probes }: Circuit, nowMs: number): ProviderState["circuit"] {
  if (openUntilMs === undefined) return "closed";
  return nowMs < openUntilMs || probes > 0 ? "open" : "half-open";
}

function recordSuccess(circuit: Circuit): void {
  circuit.uptime = moved(circuit.uptime, 1, UPTIME_WEIGHT);
  closeCircuit(circuit);
}

function closeCircuit(circuit: Circuit): void {
  circuit.failures = 0;
  circuit.openUntilMs = undefined;
  circuit.openedAtMs = undefined;
  circuit.coolDowns = 1;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function moved(average: number | undefined, sample: number, weight: number): number {
  return average === undefined ? sample : average + (sample - average) * weight;
}
