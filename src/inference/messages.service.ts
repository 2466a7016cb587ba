import type { KeyReach } from "../keys/key-terms.ts";
import type { AdmissionService, Ask } from "./admission.service.ts";
import type { Caller } from "./admitted.ts";
import type { ExchangeService } from "./exchange.service.ts";
import { readMessage } from "./message-answer.ts";
import { MessageEvents } from "./message-events.ts";
import { type MessagesPrompt, type MessagesRequest, messagesBody } from "./messages-request.ts";
import { quoteChat } from "./pricing.ts";
import type { ProviderClient } from "./provider.client.ts";
import { gatherAnswer } from "./provider-answer.ts";
import { appendFields } from "./request-fields.ts";
import type { RoutingWishes } from "./routing.ts";
import type { StreamSink } from "./stream-terms.ts";
import { readAnswerObject } from "./whole-answer.ts";

const MESSAGES_PATH = "/messages";
const COUNT_PATH = "/messages/count_tokens";
const COUNT_MS = 5_000;

type Needs = {
  readonly admission: AdmissionService;
  readonly exchanges: ExchangeService;
  readonly providers: Pick<ProviderClient, "post">;
  readonly reachOf: (keyId: string) => Promise<KeyReach>;
};

/** How a request for a message is carried: which version of the format it is in, and who may be asked. */
export type MessagesTerms = {
  readonly headers: Readonly<Record<string, string>>;
  readonly wishes: RoutingWishes;
};

/** A whole message: the provider's own bytes with `x_0g_trace` appended. */
export type MessageAnswer = { readonly body: Buffer; readonly responseKey: string | undefined };

/** Runs messages in Anthropic's format, on the providers that list it. One call is one charge. */
export class MessagesService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Answers a message as a whole, after its bill is committed. Throws what admission throws, `provider_error` when no
   * provider gives an answer, and the provider's own reason when it refuses the request.
   */
  create(
    request: MessagesRequest,
    caller: Caller,
    terms: MessagesTerms & { readonly signal: AbortSignal },
  ): Promise<MessageAnswer> {
    return this.#needs.exchanges.track(this.#create(request, caller, terms));
  }

  /**
   * Answers a message as a stream into `sink`, and resolves when it is over and billed. Rejects only while nothing was
   * written yet; later failures are told in the stream.
   */
  stream(request: MessagesRequest, caller: Caller, sink: StreamSink, terms: MessagesTerms): Promise<void> {
    return this.#needs.exchanges.track(this.#stream(request, caller, sink, terms));
  }

  /** The tokens of a prompt: as the provider counts them where it has that, else by our own tokenizer. Not billed. */
  async countTokens(
    prompt: MessagesPrompt,
    caller: Pick<Caller, "keyId">,
    { headers, wishes, signal }: MessagesTerms & { readonly signal: AbortSignal },
  ): Promise<number> {
    const { admission, providers, reachOf } = this.#needs;
    const choice = admission.choose(askFor(prompt, wishes), await reachOf(caller.keyId));
    const [provider] = choice.candidates;
    if (!provider) return prompt.promptTokens;
    try {
      const answer = await gatherAnswer(
        (listener) =>
          providers.post(provider, COUNT_PATH, messagesBody(prompt, provider), listener, {
            headers,
            totalMs: COUNT_MS,
          }),
        { signal },
      );
      const { input_tokens: tokens } = readAnswerObject(answer);
      return Number.isSafeInteger(tokens) ? (tokens as number) : prompt.promptTokens;
    } catch {
      return prompt.promptTokens;
    }
  }

  async #create(
    request: MessagesRequest,
    caller: Caller,
    { headers, wishes, signal }: MessagesTerms & { readonly signal: AbortSignal },
  ): Promise<MessageAnswer> {
    const { admission, exchanges } = this.#needs;
    const admitted = await admission.admit(billedAsk(request, wishes), caller);
    const { answer, trace } = await exchanges.collect(admitted, MESSAGES_PATH, {
      headers,
      signal,
      read: (whole) => readMessage(whole, request),
    });
    return { body: appendFields(answer.body, { x_0g_trace: trace }), responseKey: answer.responseKey };
  }

  async #stream(
    request: MessagesRequest,
    caller: Caller,
    sink: StreamSink,
    { headers, wishes }: MessagesTerms,
  ): Promise<void> {
    const { admission, exchanges } = this.#needs;
    const admitted = await admission.admit(billedAsk(request, wishes), caller);
    await exchanges.stream(admitted, MESSAGES_PATH, {
      headers,
      sink,
      inputTokens: request.promptTokens,
      newReader: () => new MessageEvents(request),
    });
  }
}

function askFor(prompt: MessagesPrompt, wishes: RoutingWishes) {
  return {
    model: prompt.model,
    serviceType: "chatbot",
    format: "anthropic",
    wishes: { ...prompt.wishes, ...wishes },
    inputTokens: prompt.promptTokens,
    verifyTee: prompt.verifyTee,
  } as const;
}

function billedAsk(request: MessagesRequest, wishes: RoutingWishes): Ask {
  const { promptTokens, maxTokens } = request;
  return {
    ...askFor(request, wishes),
    quote: (price) => quoteChat({ promptTokens, maxTokens, modelLimit: maxTokens, choices: 1 }, price),
    body: (provider) => messagesBody(request, provider),
  };
}
