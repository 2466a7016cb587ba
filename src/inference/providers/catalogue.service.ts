import { StartupError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { byPrice, type Model, type Provider, SERVICE_TYPES, type ServiceType } from "./provider.ts";

/** Where offers are read from: the chain's registry, or a file. */
export type ProviderSource = { load(): Promise<readonly Provider[]> };

type Dependencies = { readonly source: ProviderSource; readonly log: Logger; readonly refreshMs: number };
type Snapshot = {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly models: ReadonlyMap<string, Model>;
};

const EMPTY: Snapshot = { providers: new Map(), models: new Map() };

/** The offers of all providers, kept in memory and read again every `refreshMs`. */
export class CatalogueService {
  readonly #dependencies: Dependencies;
  #snapshot = EMPTY;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads the offers now. An error leaves the snapshot as it was. */
  async refresh(): Promise<void> {
    this.#snapshot = toSnapshot(await this.#dependencies.source.load());
  }

  /**
   * Reads the offers, and again every `refreshMs` until `stop`. A failed read is logged and tried again; the first
   * throws a `StartupError` where the configuration is at fault.
   */
  async start(): Promise<void> {
    const refresh = () => this.refresh().catch((error: unknown) => this.#warn(error));
    await this.refresh().catch((error: unknown) => {
      if (error instanceof StartupError) throw error;
      this.#warn(error);
    });
    this.#timer = setInterval(refresh, this.#dependencies.refreshMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #warn(error: unknown): void {
    this.#dependencies.log.warn({ err: error }, "reading the providers failed");
  }

  /** All models, by id. */
  models(): readonly Model[] {
    return [...this.#snapshot.models.values()];
  }

  /** The model of this id; of several service types under one id, the one asked for or else the first. */
  model(id: string, serviceType?: ServiceType): Model | undefined {
    const { models } = this.#snapshot;
    if (serviceType !== undefined) return models.get(keyOf({ id, serviceType }));
    return SERVICE_TYPES.map((type) => models.get(keyOf({ id, serviceType: type }))).find(Boolean);
  }

  /** All offers, by address. */
  providers(): readonly Provider[] {
    return [...this.#snapshot.providers.values()];
  }

  /** The offer of this address, in any letter case. */
  provider(address: string): Provider | undefined {
    return this.#snapshot.providers.get(address.toLowerCase());
  }
}

/** Names are not owned: another service offered under the same name is another model. */
function toSnapshot(loaded: readonly Provider[]): Snapshot {
  const sorted = loaded.toSorted((a, b) => (a.address < b.address ? -1 : 1));
  const providers = new Map(sorted.map((provider) => [provider.address as string, provider]));
  const offersOf = Map.groupBy(sorted, ({ model: id, serviceType }) => keyOf({ id, serviceType }));
  const models = [...offersOf]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, offers]) => toModel(offers).map((model) => [key, model] as const));
  return { providers, models: new Map(models) };
}

function toModel(offers: readonly Provider[]): readonly Model[] {
  const [first] = offers;
  if (!first) return [];
  return [{ id: first.model, serviceType: first.serviceType, providers: offers.toSorted(byPrice) }];
}

function keyOf({ id, serviceType }: Pick<Model, "id" | "serviceType">): string {
  return `${id}\n${serviceType}`;
}
