import { serviceText } from "../../parts/value/service-names.ts";
import type { ModelsSearch } from "./models-url.ts";

type Sort = "NAME" | "PRICE" | "LATENCY" | "UPTIME" | "CONTEXT";

/** What was observed of a model or a provider in 30 days; null without requests. */
export type Observed = {
  readonly requestCount: number;
  readonly failedCount: number;
  readonly p50Ms: number | null;
} | null;

/** What the gateway measures at present, of which the 30 days are stored once a minute. */
type Present = { readonly latencyMs: number | null; readonly uptimePercent: number | null };

/** What the catalogue filters and sorts models by. */
export type Sortable = {
  readonly modelId: string;
  readonly name: string;
  readonly serviceType: string;
  readonly pricing: { readonly input: string; readonly output: string } | null;
  readonly profile: {
    readonly contextLength: number | null;
    readonly description: string | null;
    readonly inputModalities: readonly string[] | null;
    readonly outputModalities: readonly string[] | null;
  } | null;
  readonly recentHealth: Observed;
  readonly providers: readonly {
    readonly address: string;
    readonly trustMode: string;
    readonly health: Present;
  }[];
};

const MODALITIES: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  CHATBOT: [["text"], ["text"]],
  TEXT_TO_IMAGE: [["text"], ["image"]],
  IMAGE_EDITING: [["text", "image"], ["image"]],
  SPEECH_TO_TEXT: [["audio"], ["text"]],
  TEXT_TO_SPEECH: [["text"], ["audio"]],
  EMBEDDING: [["text"], ["embedding"]],
  RERANK: [["text"], ["ranking"]],
};

/** What a model accepts and returns: as its provider states, otherwise as its type of service does. */
export function modalitiesOf({ profile, serviceType }: Pick<Sortable, "profile" | "serviceType">) {
  const [input, output] = MODALITIES[serviceType] ?? [[], []];
  return { input: profile?.inputModalities ?? input, output: profile?.outputModalities ?? output };
}

/**
 * The share of requests that were answered, from 0 to 1: of 30 days, or at present of the best provider while no request
 * is stored yet. Undefined without requests.
 */
export function uptimeOf(observed: Observed, present: readonly Present[]): number | undefined {
  if (observed && observed.requestCount > 0)
    return (observed.requestCount - observed.failedCount) / observed.requestCount;
  const percents = present.flatMap(({ uptimePercent }) => uptimePercent ?? []);
  return percents.length > 0 ? Math.max(...percents) / 100 : undefined;
}

/** The median time to the first token, in milliseconds, of the same requests as `uptimeOf`. */
export function latencyOf(observed: Observed, present: readonly Present[]): number | undefined {
  if (observed && observed.p50Ms !== null) return observed.p50Ms;
  const latencies = present.flatMap(({ latencyMs }) => latencyMs ?? []);
  return latencies.length > 0 ? Math.min(...latencies) : undefined;
}

/** What is measured of each provider at present. */
export function healthsOf(providers: readonly { readonly health: Present }[]): readonly Present[] {
  return providers.map(({ health }) => health);
}

/** The models that match, in the order of the search. A model without the value is last in both directions. */
export function searchModels<Model extends Sortable>(
  models: readonly Model[],
  { q = "", modality, trust, provider, sort = "NAME" }: ModelsSearch,
): readonly Model[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = models.filter((model) => {
    const { modelId, name, serviceType, profile, providers } = model;
    const text = [modelId, name, serviceText(serviceType), profile?.description].join(" ").toLowerCase();
    const { input, output } = modalitiesOf(model);
    return (
      words.every((word) => text.includes(word)) &&
      (!modality || input.includes(modality) || output.includes(modality)) &&
      providers.some(
        ({ address, trustMode }) =>
          (!trust || trustMode === trust) && (!provider || address.toLowerCase() === provider.toLowerCase()),
      )
    );
  });
  const isDescending = sort.startsWith("-");
  const keyOf = KEYS[sort.replace("-", "") as Sort];
  const compare = (one: Model, other: Model) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    const order = a < b ? -1 : a > b ? 1 : 0;
    return isDescending ? -order : order;
  };
  return found.toSorted((one, other) => compare(one, other) || (one.modelId < other.modelId ? -1 : 1));
}

const KEYS: Readonly<Record<Sort, (model: Sortable) => string | number | bigint | undefined>> = {
  NAME: ({ name }) => name.toLowerCase(),
  PRICE: ({ pricing }) => (pricing === null ? undefined : BigInt(pricing.input) + BigInt(pricing.output)),
  LATENCY: ({ recentHealth, providers }) => latencyOf(recentHealth, healthsOf(providers)),
  UPTIME: ({ recentHealth, providers }) => uptimeOf(recentHealth, healthsOf(providers)),
  CONTEXT: ({ profile }) => profile?.contextLength ?? undefined,
};
