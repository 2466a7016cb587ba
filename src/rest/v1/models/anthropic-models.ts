import { z } from "zod";
import { changedAt, displayName, type Model } from "../../../inference/providers/provider.ts";
import { AppError } from "../../../kernel/errors.ts";
import { headerOf } from "../../http/headers.ts";
import { timestamp } from "../../wire.ts";

/** The number of models of a page for Anthropic's clients, if they send no `limit`: that of Anthropic's API. */
const DEFAULT_LIMIT = 20;

const tokens = z.int().nullable();
/** What Anthropic states of its own models, and no provider of this router does. */
const unknown = z.null().meta({ description: "Always null: not known." });

/**
 * A model in the shape of Anthropic's Models API, with every member that Anthropic's SDKs require. `capabilities` are
 * null as a whole, because the shape has no value for a single one that is unknown.
 */
export const ANTHROPIC_MODEL = z
  .strictObject({
    type: z.literal("model"),
    id: z.string(),
    display_name: z.string(),
    created_at: timestamp,
    max_input_tokens: tokens.meta({
      description: "The context length that the cheapest provider states; null if it states none.",
    }),
    max_tokens: tokens.meta({
      description: "The maximum answer that the cheapest provider states; null if it states none.",
    }),
    lifecycle: z.literal("active").meta({ description: "Always active: the model is available." }),
    allowed_fallback_models: z
      .array(z.string())
      .max(0)
      .meta({ description: "Always empty: `fallbacks` is not supported." }),
    capabilities: unknown,
    deprecated_at: unknown,
    line: unknown,
    retires_at: unknown,
  })
  .meta({ id: "AnthropicModel" });

/** A page of models in the shape of Anthropic's Models API. */
export const ANTHROPIC_MODELS = z
  .strictObject({
    data: z.array(ANTHROPIC_MODEL),
    has_more: z
      .boolean()
      .meta({ description: "Whether there are more models in the direction of the page." }),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: "AnthropicModels", description: "A page of models; with the header `anthropic-version`." });

/** The place of a page: a bound is the id of a model, whether or not that model is still available. */
export type AnthropicPage = {
  readonly limit?: number | undefined;
  readonly after_id?: string | undefined;
  readonly before_id?: string | undefined;
};

/** Whether a request is from a client of Anthropic's API: all of them send this header, and no others do. */
export function isAnthropicClient(rawHeaders: readonly string[]): boolean {
  return headerOf(rawHeaders, "anthropic-version") !== undefined;
}

/** A model as Anthropic's clients read it. */
export function viewAnthropicModel(model: Model): z.output<typeof ANTHROPIC_MODEL> {
  const [cheapest] = model.providers;
  if (!cheapest) throw new Error(`the model ${model.id} has no provider`);
  return {
    type: "model",
    id: model.id,
    display_name: displayName(cheapest),
    created_at: changedAt(model).toISOString(),
    max_input_tokens: cheapest.profile.contextLength ?? null,
    max_tokens: cheapest.profile.maxCompletionTokens ?? null,
    lifecycle: "active",
    allowed_fallback_models: [],
    capabilities: null,
    deprecated_at: null,
    line: null,
    retires_at: null,
  };
}

/**
 * A page of these models in the order of their ids, so that a model that comes or goes between two pages neither
 * repeats nor hides another. Of models that share an id, the first is listed. Throws `invalid_parameter` for two bounds.
 */
export function viewAnthropicPage(
  models: readonly Model[],
  { limit = DEFAULT_LIMIT, after_id: after, before_id: before }: AnthropicPage,
): z.output<typeof ANTHROPIC_MODELS> {
  if (after !== undefined && before !== undefined)
    throw new AppError("invalid_parameter", "before_id: cannot be sent with after_id", {
      param: "before_id",
    });
  const byId = new Map(models.toReversed().map((model) => [model.id, model]));
  const found = [...byId.values()]
    .filter(({ id }) => (after === undefined || id > after) && (before === undefined || id < before))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const data = (before === undefined ? found.slice(0, limit) : found.slice(-limit)).map(viewAnthropicModel);
  return {
    data,
    has_more: found.length > data.length,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
