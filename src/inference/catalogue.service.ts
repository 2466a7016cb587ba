import type { Logger } from "../kernel/log.ts";
import { byPrice, type Model, type Provider } from "./provider.ts";

/** Where offers are read from: the chain's registry, or a file. */
export type ProviderSource = { load(): Promise<readonly Provider[]> };

type Needs = { readonly source: ProviderSource; readonly log: Logger; readonly refreshMs: number };
type Snapshot = {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly models: ReadonlyMap<string, Model>;
};

const EMPTY: Snapshot = { providers: new Map(), models: new Map() };

/** The offers of all providers, kept in memory and read again every `refreshMs`. */
export class CatalogueService {
  readonly #needs: Needs;
  #snapshot = EMPTY;
  #timer: NodeJS.Timeout | undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Reads the offers now. An error leaves the snapshot as it was. */
  async refresh(): Promise<void> {
    this.#snapshot = toSnapshot(await this.#needs.source.load());
  }

  /** Reads the offers, and again every `refreshMs` until `stop`. A failed read is logged and tried again. */
  async start(): Promise<void> {
    const refresh = () =>
      this.refresh().catch((error: unknown) =>
        this.#needs.log.warn({ err: error }, "reading the providers failed"),
      );
    await refresh();
    this.#timer = setInterval(refresh, this.#needs.refreshMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** All models, by id. */
  models(): readonly Model[] {
    return [...this.#snapshot.models.values()];
  }

  model(id: string): Model | undefined {
    return this.#snapshot.models.get(id);
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

function toSnapshot(loaded: readonly Provider[]): Snapshot {
  const sorted = loaded.toSorted((a, b) => (a.address < b.address ? -1 : 1));
  const providers = new Map(sorted.map((provider) => [provider.address as string, provider]));
  const byModel = Map.groupBy(sorted, ({ model }) => model);
  const models = [...byModel]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([id, offers]) => toModel(id, offers));
  return { providers, models: new Map(models.map((model) => [model.id, model])) };
}

function toModel(id: string, offers: readonly Provider[]): readonly Model[] {
  const serviceType = offers[0]?.serviceType;
  return serviceType ? [{ id, serviceType, providers: offers.toSorted(byPrice) }] : [];
}
