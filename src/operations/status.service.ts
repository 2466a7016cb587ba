import type { CatalogueService } from "../inference/providers/catalogue.service.ts";
import type {
  HealthHistoryService,
  HealthPoint,
} from "../inference/providers/health/health-history.service.ts";
import { type Incident, incidentsOf, type OpenCircuit } from "../inference/providers/health/incidents.ts";
import { offerKey, offerOf } from "../inference/providers/offer.ts";
import { isRoutable, type Model, type Provider, type ServiceType } from "../inference/providers/provider.ts";
import { memoizeFor } from "../kernel/async/memoize-for.ts";
import type { Clock } from "../kernel/clock.ts";
import type { ProcessesService } from "./processes.service.ts";

type Dependencies = {
  readonly clock: Clock;
  readonly catalogue: CatalogueService;
  readonly healthHistory: HealthHistoryService;
  readonly processes: ProcessesService;
};

/** `unavailable`: a process sends no requests, since they failed repeatedly; `degraded`: to some providers. */
export type ServiceState = "operational" | "degraded" | "unavailable";

/** What was measured in the last 30 days. */
export type Measured = {
  /** The share of requests that were answered, 0 to 1; undefined without requests. */
  readonly uptime: number | undefined;
  /** The time to the first byte, milliseconds; undefined without answers. */
  readonly latency: { readonly p50Ms: number; readonly p95Ms: number } | undefined;
};

/** A day in UTC, and the share of requests that were answered, 0 to 1; undefined without requests. */
export type StatusDay = { readonly startsAt: Date; readonly uptime: number | undefined };

/** A provider of a model. */
export type ProviderStatus = Measured & { readonly address: string; readonly state: ServiceState };

/** A model with its providers. */
export type ModelStatus = Measured & {
  readonly id: string;
  readonly serviceType: ServiceType;
  readonly state: ServiceState;
  /** The last 30 days, oldest first. */
  readonly days: readonly StatusDay[];
  readonly providers: readonly ProviderStatus[];
};

/** The state of the service, as everyone may see it. */
export type Status = {
  readonly asOf: Date;
  readonly state: ServiceState;
  /** At most 100 models with at most 10 providers each; further ones are only counted. */
  readonly models: readonly ModelStatus[];
  readonly unlistedModels: number;
  /** The newest 50 of the last 30 days, newest first. */
  readonly incidents: readonly Incident[];
};

const FRESH_MS = 10_000;
const MAX_MODELS = 100;
const MAX_PROVIDERS_OF_MODEL = 10;
const MAX_INCIDENTS = 50;
const DAYS = 30;
const DAY_MS = 86_400_000;

/** The public status of models and providers. It is read at most every 10 s, however many look at it. */
export class StatusService {
  readonly #dependencies: Dependencies;
  readonly #read: () => Promise<Status>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#read = memoizeFor(dependencies.clock, FRESH_MS, () => this.#load());
  }

  /** The status, at most 10 s old; what was measured is up to 90 s late. The same object until it is read again. */
  current(): Promise<Status> {
    return this.#read();
  }

  async #load(): Promise<Status> {
    const { clock, catalogue, healthHistory } = this.#dependencies;
    const asOf = clock.now();
    const models = catalogue
      .models()
      .map((model) => ({ ...model, providers: model.providers.filter(isRoutable) }))
      .filter(({ providers }) => providers.length > 0);
    const listed = models.slice(0, MAX_MODELS).map((model) => ({
      ...model,
      providers: model.providers.slice(0, MAX_PROVIDERS_OF_MODEL),
    }));
    const offers = listed.flatMap(({ providers }) => providers);
    const [circuits, ofModels, ofOffers, days, hours] = await Promise.all([
      this.#openCircuits(),
      healthHistory.recent(listed.map(({ providers }) => providers)),
      healthHistory.recent(offers.map((offer) => [offer])),
      healthHistory.of(offers, "day"),
      healthHistory.failingHours(offers),
    ]);
    const open = new Set(circuits.map(offerKey));
    const dayOf = new Map(offers.map((offer, n) => [offer, days[n] ?? []]));
    const pointOf = new Map(offers.map((offer, n) => [offer, ofOffers[n]]));
    const stated = listed.map((model, n): ModelStatus => {
      const providers = model.providers.map((offer): ProviderStatus => {
        const state = open.has(offerKey(offerOf(offer))) ? "unavailable" : "operational";
        return { address: offer.address, state, ...measured(pointOf.get(offer)) };
      });
      return {
        ...{ id: model.id, serviceType: model.serviceType, state: stateOf(providers), providers },
        ...measured(ofModels[n]),
        days: daysOf(model, dayOf, asOf),
      };
    });
    const shown = new Set(offers.map((offer) => offerKey(offerOf(offer))));
    const ofShown = circuits.filter((circuit) => shown.has(offerKey(circuit)));
    return {
      asOf,
      state: stateOf(stated),
      models: stated,
      unlistedModels: models.length - listed.length,
      incidents: incidentsOf(hours, ofShown, asOf).slice(0, MAX_INCIDENTS),
    };
  }

  /** The open circuits of every process that reports, each offer's first. */
  async #openCircuits(): Promise<readonly OpenCircuit[]> {
    const found = new Map<string, OpenCircuit>();
    for (const { isSilent, circuits } of await this.#dependencies.processes.list()) {
      if (isSilent) continue;
      for (const { provider, model, openedAt } of circuits) {
        if (openedAt === null) continue;
        const circuit = { provider, model, openedAt: new Date(openedAt) };
        const known = found.get(offerKey(circuit));
        if (!known || circuit.openedAt < known.openedAt) found.set(offerKey(circuit), circuit);
      }
    }
    return [...found.values()];
  }
}

function stateOf(parts: readonly { readonly state: ServiceState }[]): ServiceState {
  if (parts.every(({ state }) => state === "operational")) return "operational";
  return parts.every(({ state }) => state === "unavailable") ? "unavailable" : "degraded";
}

function measured(point: HealthPoint | undefined): Measured {
  if (!point) return { uptime: undefined, latency: undefined };
  const { latency } = point;
  return { uptime: shareOf(point), latency: latency && { p50Ms: latency.p50Ms, p95Ms: latency.p95Ms } };
}

function shareOf({ requests, failures }: { requests: number; failures: number }): number | undefined {
  return requests === 0 ? undefined : (requests - failures) / requests;
}

function daysOf(
  { providers }: Model,
  pointsOf: ReadonlyMap<Provider, readonly HealthPoint[]>,
  now: Date,
): readonly StatusDay[] {
  const sums = new Map<number, { requests: number; failures: number }>();
  for (const provider of providers)
    for (const { startsAt, requests, failures } of pointsOf.get(provider) ?? []) {
      const sum = sums.get(startsAt.getTime()) ?? { requests: 0, failures: 0 };
      sums.set(startsAt.getTime(), {
        requests: sum.requests + requests,
        failures: sum.failures + failures,
      });
    }
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  return Array.from({ length: DAYS }, (_, n) => {
    const startMs = today - (DAYS - 1 - n) * DAY_MS;
    const sum = sums.get(startMs);
    return { startsAt: new Date(startMs), uptime: sum && shareOf(sum) };
  });
}
