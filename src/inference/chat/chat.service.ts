import QuickLru from "quick-lru";
import type { AppError } from "../../kernel/errors.ts";
import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Admitted, Caller } from "../billing/admitted.ts";
import { affordableTokens } from "../billing/pricing.ts";
import { promptTokensOf, quotePrompt } from "../billing/prompt-bound.ts";
import { usageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import { requestedModel } from "../body/request-fields.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import type { StreamSink } from "../dispatch/stream-options.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import type { ApiFormat } from "../providers/profile.ts";
import type { Provider } from "../providers/provider.ts";
import { mergePreferences, type RoutingPreferences } from "../routing/routing-preferences.ts";
import type { ShownAnswer } from "./answer-edits.ts";
import type { AnswerBounds, NativeForm, TranslatedChat } from "./answer-translation.ts";
import { readChat } from "./chat-answer.ts";
import { ChatEvents } from "./chat-events.ts";
import { type ChatRequest, guardedChat, providerBody, withDefaultLimit } from "./chat-request.ts";
import { likelySize } from "./chat-size.ts";
import { TextMeter } from "./text-meter.ts";

const REMEMBERED_PROVIDERS = 1_000;

/** The endpoint of providers that answers, with the format that lists it and the `object` of its chunks. */
type ChatEndpoint = {
  readonly format: ApiFormat;
  readonly path: `/${string}`;
  readonly chunk: string;
  /** The members of a choice with its answer: in a whole answer, and in a chunk. */
  readonly whole: "message" | "text";
  readonly part: "delta" | "text";
};

const CHAT: ChatEndpoint = {
  format: "openai",
  path: "/chat/completions",
  chunk: "chat.completion.chunk",
  ...{ whole: "message", part: "delta" },
};

/** OpenAI's legacy text completions: chats whose prompt and choices are texts. */
export const TEXT_COMPLETIONS: ChatEndpoint = {
  format: "completions",
  path: "/completions",
  chunk: "text_completion",
  ...{ whole: "text", part: "text" },
};

type Dependencies = {
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies;
  /** Limit on the tokens of an answer when the client sets none. */
  readonly maxCompletionTokens: number;
  /** By default that of chats. */
  readonly endpoint?: ChatEndpoint;
};

/** A whole answer: the provider's own bytes with `x_0g_trace` appended. */
export type ChatCompletion = ShownAnswer;

/** Runs chat completions, or text completions: hold, forward, settle. Each call is charged once, whatever happens in between. */
export class ChatService {
  readonly #dependencies: Dependencies;
  readonly #endpoint: ChatEndpoint;
  /** Providers that reject the option for usage in streams. */
  readonly #lacksStreamUsage = new QuickLru<string, true>({ maxSize: REMEMBERED_PROVIDERS });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#endpoint = dependencies.endpoint ?? CHAT;
  }

  /**
   * Returns a whole chat answer once its bill is committed. Throws what admission throws, `provider_error` when no
   * provider answers (nothing is billed then), and the provider's own reason when it rejects the request.
   */
  complete(
    request: TranslatedChat,
    caller: Caller,
    signal: AbortSignal,
    preferences?: RoutingPreferences,
  ): Promise<ChatCompletion> {
    return this.#dependencies.exchanges.track(this.#complete(request, caller, signal, preferences));
  }

  /**
   * Streams a chat answer into `sink`, and resolves when it has ended and is billed. Rejects only before the first
   * write; later failures are reported in the stream. When the client disconnects, the provider is aborted immediately
   * and the delivered part is billed.
   */
  stream(
    request: TranslatedChat,
    caller: Caller,
    sink: StreamSink,
    preferences?: RoutingPreferences,
  ): Promise<void> {
    return this.#dependencies.exchanges.track(this.#stream(request, caller, sink, preferences));
  }

  async #complete(
    request: TranslatedChat,
    caller: Caller,
    signal: AbortSignal,
    preferences: RoutingPreferences | undefined,
  ): Promise<ChatCompletion> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(this.#toAdmissionRequest(request, preferences), caller);
    const { bytes, choices, translation } = request;
    const answerTokens = this.#answerTokens(request, admitted);
    return exchanges.collect(admitted, this.#pathOf(request), {
      signal,
      answerTokens,
      read: (whole, by) => {
        const bounds = this.#boundsOf(request, admitted, by);
        const native = nativeAt(by, request);
        if (native) return native.read(whole, bounds, bodies);
        return readChat(
          whole,
          {
            ...{ bytes, choices, translation, limits: bounds.limits, model: bounds.model },
            ...{ answered: by.model, whole: this.#endpoint.whole },
          },
          bodies,
        );
      },
    });
  }

  async #stream(
    request: TranslatedChat,
    caller: Caller,
    sink: StreamSink,
    preferences: RoutingPreferences | undefined,
  ): Promise<void> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(this.#toAdmissionRequest(request, preferences), caller);
    const { wantsUsage, choices, bytes, translation } = request;
    await exchanges.stream(admitted, this.#pathOf(request), {
      sink,
      countInput: () => bodies.countRequest(bytes),
      ourFault: (refusal, provider) => this.#learn(refusal, keyOf(provider)),
      newReader: (provider) => {
        const bounds = this.#boundsOf(request, admitted, provider);
        const native = nativeAt(provider, request);
        if (native) return native.reader(bounds, bodies);
        const events = new ChatEvents({
          ...{ wantsUsage, choices, limits: bounds.limits, model: bounds.model },
          providerUrl: provider.url,
          ...{ object: this.#endpoint.chunk, part: this.#endpoint.part, text: new TextMeter(bodies) },
        });
        return translation?.reader(events, provider.model) ?? events;
      },
    });
  }

  /** The endpoint that answers a request: that of chats, unless a provider has the client's own format. */
  #pathOf({ native }: TranslatedChat) {
    const { path } = this.#endpoint;
    return native ? (provider: Provider) => (native.isServedBy(provider.profile) ? native.path : path) : path;
  }

  #boundsOf(request: TranslatedChat, admitted: Admitted, provider: Provider): AnswerBounds {
    const { choices, prompts, bytes, native } = request;
    const answerTokens = this.#answerTokens(request, admitted);
    const more = native?.moreTokens ?? 0;
    return {
      limits: usageLimits(provider, answerTokens * choices, prompts),
      ...requestedModel(provider),
      providerUrl: provider.url,
      countInput: async () => (await this.#dependencies.bodies.countRequest(bytes)) + more,
      keep: (answerId) => admitted.markKept(answerId),
    };
  }

  /** The most tokens of each answer: our own limit, and that of the key, apply to a request without a client limit. */
  #answerTokens(
    { maxTokens = this.#dependencies.maxCompletionTokens }: ChatRequest,
    { request: { answerLimit = maxTokens } }: Admitted,
  ): number {
    return Math.min(maxTokens, answerLimit);
  }

  /**
   * Some servers reject `stream_options`, which requests usage. The first rejection is remembered and fails the
   * attempt, which is then repeated without the option: the router counts the usage itself. Undefined for any other
   * error.
   */
  #learn(refusal: AppError, key: string): ProviderFailure | undefined {
    if (refusal.code !== "invalid_body" || !/stream_options|include_usage/.test(refusal.message))
      return undefined;
    if (this.#lacksStreamUsage.has(key)) return undefined;
    this.#lacksStreamUsage.set(key, true);
    return new ProviderFailure("field", { message: refusal.message, cause: refusal });
  }

  #toAdmissionRequest(
    request: TranslatedChat,
    preferences: RoutingPreferences | undefined,
    { counted, answerLimit }: { readonly counted?: number; readonly answerLimit?: number } = {},
  ): AdmissionRequest {
    const { bodies, maxCompletionTokens } = this.#dependencies;
    const modelLimit = Math.min(maxCompletionTokens, answerLimit ?? maxCompletionTokens);
    const { model, prompt, prompts = 1, maxTokens, choices, native } = request;
    const size = { prompt, counted, prompts, maxTokens, choices, modelLimit };
    return {
      model,
      serviceType: "chatbot",
      format: native?.format ?? this.#endpoint.format,
      needs: native?.needs,
      preferences: mergePreferences(request.preferences, preferences),
      promptStart: request.fields,
      ...likelySize(request, modelLimit, counted),
      counted:
        counted === undefined
          ? async () =>
              this.#toAdmissionRequest(request, preferences, {
                counted: (await bodies.countRequest(request.bytes)) + (native?.moreTokens ?? 0),
                ...(answerLimit !== undefined && { answerLimit }),
              })
          : undefined,
      guarded: guardedChat(request),
      limitedTo: (limit) =>
        this.#toAdmissionRequest(withDefaultLimit(request, limit), preferences, {
          ...(counted !== undefined && { counted }),
          answerLimit: limit,
        }),
      answerLimit,
      isShort: prompt.isShort,
      verifyTee: request.verifyTee,
      quote: (provider) => quotePrompt(size, provider),
      formOf:
        native && (({ profile }) => (native.isServedBy(profile) ? native.format : this.#endpoint.format)),
      // The events of a provider's own have its ids, so that none of them continues another answer.
      continues: native && ((provider) => !native.isServedBy(provider.profile)),
      body: (provider, held) => {
        const promptTokens = promptTokensOf(size, provider);
        const limit = affordableTokens({ ...size, promptTokens }, provider, held);
        const requestsUsage = !this.#lacksStreamUsage.has(keyOf(provider));
        return (
          nativeAt(provider, request)?.body(provider, limit) ??
          providerBody(request, limit, provider, { requestsUsage })
        );
      },
    };
  }
}

/** The form in which this provider serves a request; undefined if that is a chat. */
function nativeAt(provider: Provider, { native }: TranslatedChat): NativeForm | undefined {
  return native?.isServedBy(provider.profile) ? native : undefined;
}

function keyOf({ address, url }: Provider): string {
  return `${address} ${url}`;
}
