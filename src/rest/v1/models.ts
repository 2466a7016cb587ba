import { z } from "zod";
import {
  changedAt,
  displayName,
  isAttested,
  type Model,
  ownerOf,
  SERVICE_TYPES,
} from "../../inference/providers/provider.ts";
import { acceptsInput } from "../../inference/providers/service-types.ts";
import type { Usd } from "../../inference/routing/routing-preferences.ts";
import { AppError } from "../../kernel/errors.ts";
import { hasAtMost } from "../../kernel/text/characters.ts";
import { ANTHROPIC_ERROR } from "../errors/anthropic-error.ts";
import { ERROR_BODY } from "../errors/error-body.ts";
import { optionalIntegerParameter } from "../integer-parameter.ts";
import { manyOf } from "../query.ts";
import { defineRoute, json } from "../route.ts";
import {
  ANTHROPIC_MODEL,
  ANTHROPIC_MODELS,
  isAnthropicClient,
  viewAnthropicModel,
  viewAnthropicPage,
} from "./models/anthropic-models.ts";
import { PROFILE_FIELDS, parametersOf, viewProfile } from "./offer-view.ts";
import { MODEL_MEMBERS, MODELS_MEMBERS, modelMembers } from "./openrouter-members.ts";

const MODEL = z
  .strictObject({
    id: z.string(),
    object: z.literal("model"),
    created: z.int(),
    owned_by: z.string(),
    name: z.string(),
    type: z.enum(SERVICE_TYPES),
    ...PROFILE_FIELDS,
    ...MODEL_MEMBERS,
    provider_count: z.int(),
    tee_attested: z.boolean(),
  })
  .meta({ id: "Model" });

const MAX_MODEL_ID_CHARACTERS = 256;
const WITH_HEADER = "Only with the header `anthropic-version`.";
const addresses = manyOf(z.string().regex(/^0x[0-9a-fA-F]{40}$/));
/** Anthropic's SDK adds it to beta requests; it is ignored here. */
const beta = z.enum(["true", "false"]).optional();
const modelId = z.string().min(1).max(MAX_MODEL_ID_CHARACTERS).optional();
/** The parameters of Anthropic's clients, and those that their shape has no place for. */
const ONLY_ANTHROPIC = ["limit", "after_id", "before_id", "beta"] as const;
const NOT_ANTHROPIC = ["pricing", "legacy"] as const;
/** Many clients append `[]` to the name of a list. Generated clients may skip or rename the alias. */
const sameAs = (name: string) => ({ description: `The same as \`${name}\`.` });
const words = manyOf(z.string().min(1).max(100));

/**
 * GET /v1/models (SPEC 4.1, facts 1.3): every available model, with the profile and prices of its cheapest provider.
 * With the header `anthropic-version`, pages of models in Anthropic's shape (schema/choices.md).
 */
export const listModels = defineRoute({
  method: "GET",
  url: "/v1/models",
  summary: "List the models",
  access: "public",
  query: z.object({
    /** Offered by any of these providers. */
    provider_address: addresses,
    "provider_address[]": addresses.meta(sameAs("provider_address")),
    /** Accepting all of these input modalities. */
    input_modality: words,
    "input_modality[]": words.meta(sameAs("input_modality")),
    /** Supporting all of these parameters. */
    supported_parameter: words,
    "supported_parameter[]": words.meta(sameAs("supported_parameter")),
    pricing: z.literal("usd").optional(),
    legacy: z.enum(["true", "false"]).optional(),
    limit: optionalIntegerParameter(1, 1_000).meta({
      description: `The number of models per page. Default: 20. ${WITH_HEADER}`,
    }),
    after_id: modelId.meta({ description: `The page after the model with this id. ${WITH_HEADER}` }),
    before_id: modelId.meta({ description: `The page before the model with this id. ${WITH_HEADER}` }),
    beta: beta.meta({ description: `Ignored. ${WITH_HEADER}` }),
  }),
  answer: {
    json: z.union([
      z.strictObject({ object: z.literal("list"), data: z.array(MODEL), ...MODELS_MEMBERS }),
      ANTHROPIC_MODELS,
    ]),
  },
  failure: z.union([ERROR_BODY, ANTHROPIC_ERROR]),
  hasAnthropicShape: true,
  headers: readHeaders,
  async handle(app, { query, headers: { isAnthropic } }) {
    refuseOthers(query, isAnthropic ? NOT_ANTHROPIC : ONLY_ANTHROPIC);
    const providers = new Set(
      [...query.provider_address, ...query["provider_address[]"]].map((text) => text.toLowerCase()),
    );
    const modalities = [...query.input_modality, ...query["input_modality[]"]];
    const parameters = [...query.supported_parameter, ...query["supported_parameter[]"]];
    const tokenUsd = query.pricing === "usd" ? app.tokenPrice.current() : app.tokenPrice.known();
    if (query.pricing === "usd" && tokenUsd === undefined)
      throw new AppError("invalid_parameter", "pricing: This router does not know the price of its token.", {
        param: "pricing",
      });
    const found = app.catalogue
      .models()
      .filter(
        (model) =>
          providers.size === 0 || model.providers.some(({ address }) => providers.has(address as string)),
      )
      .filter((model) => model.providers.some((offer) => acceptsInput(offer, modalities)))
      .filter((model) => supports(model, parameters));
    if (isAnthropic) return json(viewAnthropicPage(found, query));
    const data = found.map((model) => view(model, tokenUsd));
    return json({ object: "list", data, total_count: data.length, links: { next: null } });
  },
});

/** GET /v1/models/{model}: one model, as official clients request it; the id may have slashes, encoded or not. */
export const getModel = defineRoute({
  method: "GET",
  url: "/v1/models/*",
  wildcard: "model",
  summary: "Get a model",
  access: "public",
  query: z.object({ beta: beta.meta({ description: `Ignored. ${WITH_HEADER}` }) }),
  answer: { json: z.union([MODEL, ANTHROPIC_MODEL]) },
  failure: z.union([ERROR_BODY, ANTHROPIC_ERROR]),
  hasAnthropicShape: true,
  headers: readHeaders,
  async handle(app, { params: { "*": id = "" }, query, headers: { isAnthropic } }) {
    if (!isAnthropic) refuseOthers(query, ONLY_ANTHROPIC);
    if (!hasAtMost(id, MAX_MODEL_ID_CHARACTERS))
      throw new AppError("invalid_parameter", "model: is too long.", { param: "model" });
    const model = app.catalogue.model(id);
    if (!model)
      throw new AppError("model_not_found", `There is no model ${JSON.stringify(id)}.`, { param: "model" });
    return json(isAnthropic ? viewAnthropicModel(model) : view(model, app.tokenPrice.known()));
  },
});

function readHeaders(_app: unknown, rawHeaders: readonly string[]) {
  return { isAnthropic: isAnthropicClient(rawHeaders) };
}

/** Throws `invalid_parameter` for a parameter of the other shape: ignoring it would return another list. */
function refuseOthers(query: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const param = names.find((name) => query[name] !== undefined);
  if (param !== undefined) throw new AppError("invalid_parameter", `${param}: is not known here`, { param });
}

function supports({ providers }: Model, parameters: readonly string[]): boolean {
  const known = parametersOf(providers.map(({ profile }) => profile));
  return parameters.every((parameter) => known.has(parameter));
}

function view(model: Model, tokenUsd: Usd | undefined) {
  const [cheapest] = model.providers;
  if (!cheapest) throw new Error(`the model ${model.id} has no provider`);
  const formats = [...new Set(model.providers.flatMap(({ profile }) => profile.formats))];
  const profile = viewProfile(cheapest, tokenUsd, formats);
  return {
    id: model.id,
    object: "model",
    created: Math.floor(changedAt(model).getTime() / 1_000),
    owned_by: ownerOf(cheapest),
    name: displayName(cheapest),
    type: model.serviceType,
    ...profile,
    ...modelMembers(model.id, profile),
    provider_count: model.providers.length,
    tee_attested: model.providers.some(isAttested),
  };
}
