import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Caller } from "../billing/admitted.ts";
import { inputAdmission } from "../billing/input-admission.ts";
import { readInputTokens, showsInputTokens, usageLimits } from "../billing/usage.ts";
import type { Bodies, BodyPool } from "../body/body-pool.ts";
import { requestedModel } from "../body/request-fields.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "../chat/whole-answer.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import type { Reading } from "../dispatch/reading.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import type { Provider } from "../providers/provider.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import type { EncodedVectors, ReadVectors } from "./embeddings-answer.ts";
import { type EmbeddingsRequest, embeddingsBody } from "./embeddings-request.ts";

const EMBEDDINGS_PATH = "/embeddings";
/** 2,048 vectors of 1,536 numbers are 40 MB of JSON. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;

type Dependencies = {
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies & Pick<BodyPool, "readVectors" | "readEncodedVectors">;
};

/** Embeds texts. Each call is charged once, by the tokens of its inputs. */
export class EmbeddingsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns one vector per input, in the requested encoding, once the bill is committed. Throws what admission throws, `provider_error` when no
   * provider returns them, and the provider's own reason when it rejects the request.
   */
  create(
    request: EmbeddingsRequest,
    caller: Caller,
    { signal, preferences }: { readonly signal: AbortSignal; readonly preferences: RoutingPreferences },
  ): Promise<ShownAnswer> {
    return this.#dependencies.exchanges.track(this.#create(request, caller, signal, preferences));
  }

  /** The vectors of an answer that `create` returned to a request for base64. Throws `unavailable`. */
  read(body: Buffer): Promise<EncodedVectors> {
    return this.#dependencies.bodies.readEncodedVectors(body.toString("utf8"));
  }

  async #create(
    request: EmbeddingsRequest,
    caller: Caller,
    signal: AbortSignal,
    preferences: RoutingPreferences,
  ): Promise<ShownAnswer> {
    const { admission, exchanges } = this.#dependencies;
    const admitted = await admission.admit(this.#toAdmissionRequest(request, preferences), caller);
    return exchanges.collect(admitted, EMBEDDINGS_PATH, {
      signal,
      maxBytes: MAX_ANSWER_BYTES,
      read: (whole, provider) => this.#read(whole, request, provider),
    });
  }

  /**
   * Validates an answer and determines its billed usage: the provider's count if it is valid, otherwise our own. Throws
   * a `ProviderFailure` for an invalid answer, including one with fewer vectors than inputs, and the provider's reason
   * when it blames the request.
   */
  async #read(answer: ProviderAnswer, request: EmbeddingsRequest, provider: Provider): Promise<Reading> {
    const { bodies } = this.#dependencies;
    let read: ReadVectors | undefined;
    const fields = await readAnswerObject(answer, {
      parseAnswer: async (body) => {
        read = await bodies.readVectors(body, request.encoding);
        return read.fields;
      },
    });
    if (read?.vectors === undefined)
      throw emptyAnswer("The provider's answer is not a list of vectors in the requested encoding.");
    if (read.vectors !== request.inputs) throw emptyAnswer("The provider's answer lacks vectors.");
    const limits = usageLimits(provider, 0, request.inputs);
    const counted = readInputTokens(fields.usage, limits);
    const inputTokens = counted ?? Math.min(await bodies.countRequest(request.bytes), limits.maxInputTokens);
    const { model } = requestedModel(provider);
    const usage = showsInputTokens(fields.usage, inputTokens) ? undefined : embeddingsUsage(inputTokens);
    const edits = await bodies.findEdits(answer.body, { members: { model, usage }, showsCost: true });
    return {
      usage: { inputTokens, outputTokens: 0 },
      estimated: counted === undefined,
      answerId: answerIdOf(fields),
      edits: [...read.edits, ...edits],
    };
  }

  #toAdmissionRequest(request: EmbeddingsRequest, preferences: RoutingPreferences): AdmissionRequest {
    return inputAdmission(request, {
      serviceType: "embedding",
      prompts: request.inputs,
      preferences,
      count: () => this.#dependencies.bodies.countRequest(request.bytes),
      body: (provider) => embeddingsBody(request, provider),
    });
  }
}

/** Usage in OpenAI's format, shown to the client where the provider's own is not what is billed. */
function embeddingsUsage(inputTokens: number) {
  return { prompt_tokens: inputTokens, total_tokens: inputTokens };
}
