import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import { StartupError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { byPrice, type Model, type Provider, SERVICE_TYPES } from "./provider.ts";

/** A source of offers: the on-chain registry, or a file. */
export type ProviderSource = { load(): Promise<readonly Provider[]> };

type Dependencies = { readonly source: ProviderSource; readonly log: Logger; readonly refreshMs: number };
type Snapshot = {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly models: ReadonlyMap<string, Model>;
};

const EMPTY: Snapshot = { providers: new Map(), models: new Map() };

/** The offers of all providers, held in memory and refreshed every `refreshMs`. */
export class CatalogueService {
  readonly #dependencies: Dependencies;
  #snapshot = EMPTY;
  #lastStarted = 0;
  #lastApplied = 0;
  readonly #reads: PeriodicTask;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const failed = (error: unknown) => this.#warn(error);
    this.#reads = new PeriodicTask({ everyMs: dependencies.refreshMs, work: () => this.refresh(), failed });
  }

  /**
   * Reads the offers now. If the read fails, the snapshot stays as it is; if reads overlap, the one that started last
   * wins.
   */
  async refresh(): Promise<void> {
    const read = ++this.#lastStarted;
    const loaded = await this.#dependencies.source.load();
    if (read < this.#lastApplied) return;
    this.#lastApplied = read;
    this.#snapshot = toSnapshot(loaded);
  }

  /**
   * Reads the offers now and every `refreshMs` until `stop`. A failed read is logged and retried; the first one throws
   * a `StartupError` if the configuration is invalid.
   */
  async start(): Promise<void> {
    await this.refresh().catch((error: unknown) => {
      if (error instanceof StartupError) throw error;
      this.#warn(error);
    });
    this.#reads.start({ isLater: true });
  }

  /** Stops reading. A read in progress is not waited for. */
  stop(): void {
    void this.#reads.stop();
  }

  #warn(error: unknown): void {
    this.#dependencies.log.warn({ err: error }, "refreshing the providers failed");
  }

  /** All models, by id. */
  models(): readonly Model[] {
    return [...this.#snapshot.models.values()];
  }

  /** The model with this id; if several service types share the id, the given type or otherwise the first. */
  model(id: string, serviceType?: string): Model | undefined {
    const { models } = this.#snapshot;
    if (serviceType !== undefined) return models.get(keyOf({ id, serviceType }));
    return SERVICE_TYPES.map((type) => models.get(keyOf({ id, serviceType: type }))).find(Boolean);
  }

  /** All offers, by address. */
  providers(): readonly Provider[] {
    return [...this.#snapshot.providers.values()];
  }

  /** The offer with this address, in any letter case. */
  provider(address: string): Provider | undefined {
    return this.#snapshot.providers.get(address.toLowerCase());
  }
}

/** Names are not unique: a different service type under the same name is a different model. */
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

function keyOf({ id, serviceType }: { readonly id: string; readonly serviceType: string }): string {
  return `${id}\n${serviceType}`;
}
