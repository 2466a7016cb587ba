import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Caller } from "../billing/admitted.ts";
import { inputAdmission } from "../billing/input-admission.ts";
import { showsInputTokens, usageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import { requestedModel } from "../body/request-fields.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import { answerIdOf, readAnswerObject } from "../chat/whole-answer.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import type { Reading } from "../dispatch/reading.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import type { Provider } from "../providers/provider.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import { requireResults, statedTokens } from "./rerank-answer.ts";
import { type RerankRequest, rerankBody } from "./rerank-request.ts";

const RERANK_PATH = "/rerank";

type Dependencies = {
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies;
};

/** Ranks documents by a query. Each call is charged once, by the tokens of its documents, each with the query. */
export class RerankService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the ranking once the bill is committed. Throws what admission throws, `provider_error` when no provider
   * returns one, and the provider's own reason when it rejects the request.
   */
  rank(
    request: RerankRequest,
    caller: Caller,
    { signal, preferences }: { readonly signal: AbortSignal; readonly preferences: RoutingPreferences },
  ): Promise<ShownAnswer> {
    return this.#dependencies.exchanges.track(this.#rank(request, caller, signal, preferences));
  }

  async #rank(
    request: RerankRequest,
    caller: Caller,
    signal: AbortSignal,
    preferences: RoutingPreferences,
  ): Promise<ShownAnswer> {
    const { admission, exchanges } = this.#dependencies;
    const admitted = await admission.admit(this.#toAdmissionRequest(request, preferences), caller);
    return exchanges.collect(admitted, RERANK_PATH, {
      signal,
      read: (whole, provider) => this.#read(whole, request, provider),
    });
  }

  /**
   * Validates an answer and determines its billed usage: the provider's count if it is valid, otherwise our own. Throws
   * a `ProviderFailure` for an invalid answer, and the provider's reason when it blames the request.
   */
  async #read(answer: ProviderAnswer, request: RerankRequest, provider: Provider): Promise<Reading> {
    const { bodies } = this.#dependencies;
    const fields = await readAnswerObject(answer, bodies);
    requireResults(fields.results, request);
    const limits = usageLimits(provider, 0, request.documents);
    const counted = statedTokens(fields, limits);
    const inputTokens = counted ?? Math.min(await bodies.countRequest(request.bytes), limits.maxInputTokens);
    const usage = showsInputTokens(fields.usage, inputTokens)
      ? undefined
      : { prompt_tokens: inputTokens, total_tokens: inputTokens };
    const { model } = fields.model === undefined ? {} : requestedModel(provider);
    return {
      usage: { inputTokens, outputTokens: 0 },
      estimated: counted === undefined,
      answerId: answerIdOf(fields),
      edits: await bodies.findEdits(answer.body, { members: { model, usage }, showsCost: true }),
    };
  }

  #toAdmissionRequest(request: RerankRequest, preferences: RoutingPreferences): AdmissionRequest {
    return inputAdmission(request, {
      serviceType: "rerank",
      prompts: request.documents,
      preferences,
      count: () => this.#dependencies.bodies.countRequest(request.bytes),
      body: (provider) => rerankBody(request, provider),
    });
  }
}
