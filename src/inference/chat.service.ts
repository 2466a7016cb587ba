import { AppError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import type { AdmissionService, AdmittedChat, Caller } from "./admission.service.ts";
import { appendFields, type ChatRequest } from "./chat-request.ts";
import { type ChatSink, ChatStream } from "./chat-stream.ts";
import { answerText } from "./delivered.ts";
import type { TokenUsage } from "./pricing.ts";
import type { ProviderClient } from "./provider.client.ts";
import { collectAnswer, type ProviderAnswer, refusalOf } from "./provider-answer.ts";
import { countTokens } from "./tokens.ts";
import { readUsage } from "./usage.ts";

const CHAT_PATH = "/v1/proxy/chat/completions";

type Needs = {
  readonly admission: AdmissionService;
  readonly providers: ProviderClient;
  readonly log: Logger;
};

/** A whole answer: the provider's own bytes with `x_0g_trace` appended. */
export type ChatCompletion = { readonly body: Buffer; readonly responseKey: string | undefined };

/** Runs chat completions: hold, forward, settle. One call is one charge, whatever happens in between. */
export class ChatService {
  readonly #needs: Needs;
  readonly #running = new Set<Promise<unknown>>();

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Answers a chat as a whole, after its bill is committed. Throws what admission throws, `provider_error` for an
   * answer that is none (and then nothing is billed), and the provider's own reason when it refuses the request.
   */
  complete(request: ChatRequest, caller: Caller, signal: AbortSignal): Promise<ChatCompletion> {
    return this.#track(this.#complete(request, caller, signal));
  }

  /**
   * Answers a chat as a stream into `sink`, and resolves when it is over and billed. Rejects only while nothing was
   * written yet; later failures are told in the stream. When the client leaves, the provider is cut off at once and
   * what was delivered is billed.
   */
  stream(request: ChatRequest, caller: Caller, sink: ChatSink): Promise<void> {
    return this.#track(this.#stream(request, caller, sink));
  }

  /** Waits until every chat under way is billed. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #complete(request: ChatRequest, caller: Caller, signal: AbortSignal): Promise<ChatCompletion> {
    const chat = await this.#needs.admission.admit(request, caller);
    try {
      const answer = await collectAnswer(this.#needs.providers, chat, CHAT_PATH, signal);
      const { usage, estimated } = meter(answer, chat);
      const trace = await chat.settle({ outcome: "completed", usage, estimated });
      return { body: appendFields(answer.body, { x_0g_trace: trace }), responseKey: answer.responseKey };
    } catch (error) {
      await this.#release(chat, error, signal.aborted);
      throw error;
    }
  }

  async #stream(request: ChatRequest, caller: Caller, sink: ChatSink): Promise<void> {
    const chat = await this.#needs.admission.admit(request, caller);
    const stream = new ChatStream({ chat, sink, wantsUsage: request.wantsUsage });
    try {
      const exchange = await this.#needs.providers.post(chat.provider, CHAT_PATH, chat.body, stream);
      await stream.run(exchange);
    } catch (error) {
      if (!stream.isSettled) await this.#release(chat, error, sink.isClosed());
      throw error;
    }
  }

  #track<T>(chat: Promise<T>): Promise<T> {
    const done = chat.finally(() => this.#running.delete(done));
    this.#running.add(done);
    return done;
  }

  async #release(chat: AdmittedChat, error: unknown, aborted: boolean): Promise<void> {
    const errorCode = error instanceof AppError ? error.code : "internal_error";
    if (!aborted)
      this.#needs.log.warn(
        { provider: chat.provider.address, errorCode, cause: causeOf(error) },
        "a chat failed",
      );
    await chat.settle({ outcome: aborted ? "aborted" : "failed", errorCode });
  }
}

function meter(answer: ProviderAnswer, chat: AdmittedChat): { usage: TokenUsage; estimated: boolean } {
  const { choices, usage: stated } = readChat(answer);
  const usage = readUsage(stated);
  if (usage) return { usage, estimated: false };
  const outputTokens = countTokens(choices.map(answerText).join(""));
  return { usage: { inputTokens: chat.promptTokens, outputTokens }, estimated: true };
}

function readChat({ status, contentType, body }: ProviderAnswer): {
  choices: readonly unknown[];
  usage: unknown;
} {
  if (status !== 200) throw refusalOf(status, body);
  try {
    const answer: unknown = contentType.includes("json") ? JSON.parse(body.toString("utf8")) : undefined;
    if (typeof answer === "object" && answer !== null && "choices" in answer && Array.isArray(answer.choices))
      return { choices: answer.choices, usage: "usage" in answer ? answer.usage : undefined };
  } catch (cause) {
    throw new AppError("provider_error", "The provider's answer could not be read.", { cause });
  }
  throw new AppError("provider_error", "The provider's answer is not a chat completion.");
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return String(cause);
}
