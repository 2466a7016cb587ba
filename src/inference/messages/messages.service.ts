import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Admitted, Caller } from "../billing/admitted.ts";
import { type QuotedChat, quotePrompt } from "../billing/prompt-bound.ts";
import { usageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import { requestedModel } from "../body/request-fields.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import { withDefaultLimit } from "../chat/chat-request.ts";
import { TextMeter } from "../chat/text-meter.ts";
import { readAnswerObject } from "../chat/whole-answer.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import type { StreamSink } from "../dispatch/stream-options.ts";
import { guard, hasGuardrails } from "../guardrails/guard.ts";
import type { ProviderClient } from "../providers/exchange/provider.client.ts";
import { gatherAnswer } from "../providers/exchange/provider-answer.ts";
import type { Provider } from "../providers/provider.ts";
import type { ChoiceService } from "../routing/choice.service.ts";
import type { FormatNeeds } from "../routing/choice-context.ts";
import { mergePreferences, type RoutingPreferences } from "../routing/routing-preferences.ts";
import { readMessage } from "./message-answer.ts";
import { MessageEvents } from "./message-events.ts";
import { type MessagesPrompt, type MessagesRequest, messagesBody } from "./messages-request.ts";

const MESSAGES_PATH = "/messages";
const COUNT_PATH = "/messages/count_tokens";
const COUNT_MS = 5_000;

type Dependencies = {
  readonly choices: ChoiceService;
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies;
  readonly providers: Pick<ProviderClient, "post">;
};

/** The options of a message request: the headers with the version of the format, and the routing preferences. */
export type MessageOptions = {
  readonly headers: Readonly<Record<string, string>>;
  readonly preferences: RoutingPreferences;
};

/** A whole message: the provider's own bytes with `x_0g_trace` appended. */
export type MessageAnswer = ShownAnswer;

/** Runs messages in Anthropic's format, on the providers that support it. Each call is charged once. */
export class MessagesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns a whole message once its bill is committed. Throws what admission throws, `provider_error` when no provider
   * answers, and the provider's own reason when it rejects the request.
   */
  create(
    request: MessagesRequest,
    caller: Caller,
    options: MessageOptions & { readonly signal: AbortSignal },
  ): Promise<MessageAnswer> {
    return this.#dependencies.exchanges.track(this.#create(request, caller, options));
  }

  /**
   * Streams a message into `sink`, and resolves when it has ended and is billed. Rejects only before the first write;
   * later failures are reported in the stream.
   */
  stream(request: MessagesRequest, caller: Caller, sink: StreamSink, options: MessageOptions): Promise<void> {
    return this.#dependencies.exchanges.track(this.#stream(request, caller, sink, options));
  }

  /**
   * Counts the tokens of a prompt: by the provider's endpoint if it has one, otherwise by our tokenizer. Not billed.
   * The guardrails of the key are checked before anything is sent: throws `guardrail_violated` as `create` does.
   */
  async countTokens(
    prompt: MessagesPrompt,
    caller: Pick<Caller, "account" | "keyId">,
    { headers, preferences, signal }: MessageOptions & { readonly signal: AbortSignal },
  ): Promise<number> {
    const { choices, providers, bodies } = this.#dependencies;
    const restrictions = await choices.restrictionsOf(caller.keyId);
    const { guardrails } = restrictions;
    const given = toCountRequest(prompt, { preferences, bodies });
    const guarded = hasGuardrails(guardrails) ? await guard(given, guardrails, bodies) : given;
    const [provider] = choices.choose(guarded, restrictions, caller.account).candidates;
    if (!provider) return bodies.countRequest(prompt.bytes);
    try {
      const answer = await gatherAnswer(
        (listener) =>
          providers.post(provider, COUNT_PATH, messagesBody(prompt, provider), listener, {
            headers,
            totalMs: COUNT_MS,
          }),
        { signal },
      );
      const { input_tokens: tokens } = await readAnswerObject(answer, bodies);
      if (Number.isSafeInteger(tokens) && (tokens as number) >= 0) return tokens as number;
    } catch {
      // A provider without a token-count endpoint has not failed.
    }
    return bodies.countRequest(prompt.bytes);
  }

  async #create(
    request: MessagesRequest,
    caller: Caller,
    { headers, preferences, signal }: MessageOptions & { readonly signal: AbortSignal },
  ): Promise<MessageAnswer> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(toAdmissionRequest(request, { preferences, bodies }), caller);
    const { bytes } = request;
    const maxTokens = answerTokens(request, admitted);
    const limitsOf = limitsWith(request, maxTokens);
    return exchanges.collect(admitted, MESSAGES_PATH, {
      headers,
      signal,
      answerTokens: maxTokens,
      read: (whole, by) => readMessage(whole, { bytes, limits: limitsOf(by), ...requestedModel(by) }, bodies),
    });
  }

  async #stream(
    request: MessagesRequest,
    caller: Caller,
    sink: StreamSink,
    { headers, preferences }: MessageOptions,
  ): Promise<void> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(toAdmissionRequest(request, { preferences, bodies }), caller);
    const limitsOf = limitsWith(request, answerTokens(request, admitted));
    await exchanges.stream(admitted, MESSAGES_PATH, {
      headers,
      sink,
      countInput: () => bodies.countRequest(request.bytes),
      newReader: (provider) =>
        new MessageEvents({
          ...{ limits: limitsOf(provider), ...requestedModel(provider) },
          providerUrl: provider.url,
          text: new TextMeter(bodies),
        }),
    });
  }
}

function routingRequest(prompt: MessagesPrompt, preferences: RoutingPreferences) {
  return {
    model: prompt.model,
    serviceType: "chatbot",
    format: "anthropic",
    preferences: mergePreferences(prompt.preferences, preferences),
    promptStart: prompt.fields,
    inputTokens: prompt.prompt.likelyTokens,
    verifyTee: prompt.verifyTee,
  } as const;
}

type Options = Pick<MessageOptions, "preferences"> & {
  readonly bodies: Bodies;
  /** Our count of the prompt's tokens, once made. */
  readonly counted?: number | undefined;
  /** The limit of the key, for a request without one of its own. */
  readonly answerLimit?: number | undefined;
};

/** A prompt that is counted: chosen for and guarded like a request for a message that has it. */
type CountRequest = ReturnType<typeof routingRequest> & { readonly needs: FormatNeeds } & Pick<
    AdmissionRequest,
    "guarded" | "inputTokens" | "verifyTee"
  > & {
    readonly counted?: (() => Promise<CountRequest>) | undefined;
  };

function toCountRequest(prompt: MessagesPrompt, options: Options): CountRequest {
  const { preferences, bodies } = options;
  const { bytes, fields } = prompt;
  const request: CountRequest = {
    ...routingRequest(prompt, preferences),
    needs: {
      serves: ({ formats }) => formats.includes("anthropic"),
      advice:
        "tokens are counted only on this format: use a model whose supported_formats in GET /v1/models include it",
    },
    guarded: {
      ...{ sizeBytes: bytes.length, fields },
      prompt: { bytes, maxTokens: prompt.prompt.maxTokens },
      answer: { choices: 1, maxTokens: undefined },
    },
  };
  return { ...request, counted: async () => ({ ...request, inputTokens: await bodies.countRequest(bytes) }) };
}

function toAdmissionRequest(request: MessagesRequest, options: Options): AdmissionRequest {
  const { preferences, bodies, counted, answerLimit } = options;
  const { prompt, maxTokens, bytes, fields, isLimitDefault } = request;
  const { client = { sizeBytes: bytes.length, fields } } = request;
  const size = sizeOf(request, counted);
  return {
    ...routingRequest(request, preferences),
    ...(counted !== undefined && { inputTokens: counted }),
    outputTokens: maxTokens,
    answerTokens: maxTokens,
    counted:
      counted === undefined
        ? async () => toAdmissionRequest(request, { ...options, counted: await bodies.countRequest(bytes) })
        : undefined,
    isShort: prompt.isShort,
    guarded: {
      ...client,
      prompt: { bytes, maxTokens: prompt.maxTokens },
      answer: { choices: 1, maxTokens: isLimitDefault ? undefined : maxTokens },
    },
    limitedTo: (limit) =>
      toAdmissionRequest(withDefaultLimit(request, limit), { ...options, answerLimit: limit }),
    answerLimit,
    quote: (provider) => quotePrompt(size, provider),
    body: (provider) => messagesBody(request, provider),
  };
}

/** What is held for: the answer and its prompt, and a summary of the prompt if the provider may make one. */
function sizeOf({ prompt, maxTokens, compaction }: MessagesRequest, counted: number | undefined): QuotedChat {
  const { readings, summaryTokens } = compaction;
  const written = maxTokens + summaryTokens;
  return {
    prompt: { ...prompt, maxTokens: prompt.maxTokens * readings },
    counted: counted === undefined ? undefined : counted * readings,
    prompts: readings,
    ...{ maxTokens: written, modelLimit: written, choices: 1 },
  };
}

/** The limits on the usage that a provider reports for an answer of at most `maxTokens`. */
function limitsWith({ compaction: { readings, summaryTokens } }: MessagesRequest, maxTokens: number) {
  return (provider: Provider) => usageLimits(provider, maxTokens + summaryTokens, readings);
}

/** The most tokens of the answer: those of the request, or of its key if the client set no limit. */
function answerTokens({ maxTokens }: MessagesRequest, { request: { answerLimit } }: Admitted): number {
  return Math.min(maxTokens, answerLimit ?? maxTokens);
}
