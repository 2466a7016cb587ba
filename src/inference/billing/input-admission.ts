import type { RequestFields } from "../body/request-fields.ts";
import type { GuardedRequest } from "../guardrails/guarded-request.ts";
import type { Provider, ServiceType } from "../providers/provider.ts";
import { mergePreferences, type RoutingPreferences } from "../routing/routing-preferences.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import { type PromptBound, quotePrompt } from "./prompt-bound.ts";

/** A request that is billed by the tokens of its input alone: texts that a model reads one by one. */
type InputRequest = RequestFields & {
  readonly model: string;
  readonly prompt: PromptBound;
  readonly verifyTee: boolean;
  readonly preferences: RoutingPreferences;
  /** The client's own body, where `bytes` and `fields` are not that. */
  readonly client?: Pick<GuardedRequest, "sizeBytes" | "fields"> | undefined;
};

type InputOptions = {
  readonly serviceType: ServiceType;
  /** The number of texts, each of which may be as long as the model's context. */
  readonly prompts: number;
  /** Preferences that replace those of the request. */
  readonly preferences: RoutingPreferences;
  /** Counts the tokens of all texts. */
  count(): Promise<number>;
  /** The body for a provider. */
  body(provider: Provider): Buffer;
};

/** The admission of a request without an answer in tokens; `counted` is our count of its tokens, once made. */
export function inputAdmission(
  request: InputRequest,
  options: InputOptions,
  counted?: number,
): AdmissionRequest {
  const { model, prompt, verifyTee, bytes, fields, client = { sizeBytes: bytes.length, fields } } = request;
  const { serviceType, prompts, preferences, count, body } = options;
  const size = { prompt, counted, prompts, maxTokens: 0, choices: 1, modelLimit: 0 };
  return {
    model,
    serviceType,
    format: "openai",
    preferences: mergePreferences(request.preferences, preferences),
    inputTokens: counted ?? prompt.likelyTokens,
    outputTokens: 0,
    counted: counted === undefined ? async () => inputAdmission(request, options, await count()) : undefined,
    isShort: prompt.isShort,
    verifyTee,
    guarded: { ...client, prompt: { bytes, maxTokens: prompt.maxTokens } },
    quote: (provider) => quotePrompt(size, provider),
    body,
  };
}
