import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Caller } from "../billing/admitted.ts";
import type { BodyPool } from "../body/body-pool.ts";
import { invalidField } from "../body/invalid-field.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import type { TranslatedChat } from "../chat/answer-translation.ts";
import type { ChatService } from "../chat/chat.service.ts";
import type { StreamSink } from "../dispatch/stream-options.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import {
  type KeptResponse,
  type KeptResponsesService,
  responseIdOf,
} from "./native/kept-responses.service.ts";
import { goneProvider, nativeForm } from "./native/native-form.ts";
import { asOfResponse } from "./refused-chat.ts";
import { ResponseEvents } from "./response-events.ts";
import type { ResponseHead } from "./response-object.ts";
import { ResponseStream } from "./response-stream.ts";

import type { ResponsesRequest } from "./responses-request.ts";

type Dependencies = {
  readonly chat: Pick<ChatService, "complete" | "stream">;
  readonly bodies: Pick<BodyPool, "translateChat">;
  readonly clock: Pick<Clock, "now">;
  readonly kept: Pick<KeptResponsesService, "find">;
};

/** A request that is ready to be admitted. */
type Prepared = { readonly chat: TranslatedChat; readonly preferences: RoutingPreferences };

/**
 * Runs OpenAI's Responses: in that format at providers that have it, and as chats at all others. Admitted, billed and
 * retried like chats. A request that continues a response goes to the provider that keeps it, and to no other.
 */
export class ResponsesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns a whole response once its bill is committed. Throws what `ChatService.complete` throws, and `invalid_body`
   * for a previous response that is not kept.
   */
  create(
    request: ResponsesRequest,
    caller: Caller,
    { signal, preferences }: { readonly signal: AbortSignal; readonly preferences: RoutingPreferences },
  ): Promise<ShownAnswer> {
    const { chat } = this.#dependencies;
    return this.#run(request, caller, preferences, (ready) =>
      chat.complete(ready.chat, caller, signal, ready.preferences),
    );
  }

  /** Streams a response into `sink` as `ChatService.stream` does a chat. */
  stream(
    request: ResponsesRequest,
    caller: Caller,
    sink: StreamSink,
    preferences: RoutingPreferences,
  ): Promise<void> {
    const { chat } = this.#dependencies;
    return this.#run(request, caller, preferences, (ready) =>
      chat.stream(ready.chat, caller, sink, ready.preferences),
    );
  }

  async #run<T>(
    request: ResponsesRequest,
    caller: Caller,
    preferences: RoutingPreferences,
    run: (ready: Prepared) => Promise<T>,
  ): Promise<T> {
    const { previousId } = request.native;
    if (previousId === undefined) {
      const chat = this.#translated(request, caller);
      return run({ chat, preferences }).catch((error) => {
        throw asOfResponse(error);
      });
    }
    const previous = await this.#dependencies.kept.find(caller, previousId);
    checkPlace(previous, request, preferences);
    const chat = this.#translated(request, caller, previous);
    try {
      return await run({ chat, preferences: { ...preferences, pin: previous.provider } });
    } catch (error) {
      throw isGone(error) ? goneProvider(error) : asOfResponse(error);
    }
  }

  /** The chat whose answer is translated to this response, and the request itself for providers that have its format. */
  #translated(
    { chat, native, hasSummary, functions, repeated }: ResponsesRequest,
    { requestId }: Caller,
    previous?: KeptResponse,
  ): TranslatedChat {
    const { bodies } = this.#dependencies;
    const nowSeconds = () => Math.floor(this.#dependencies.clock.now().getTime() / 1_000);
    const id = responseIdOf(requestId);
    const { model } = chat;
    const head: ResponseHead = { id, model, createdAt: nowSeconds(), hasSummary, functions, repeated };
    const stream = new ResponseStream(head);
    return {
      ...(previous ? longer(chat, previous) : chat),
      native: nativeForm(native, { id, previous }),
      translation: {
        whole: (completion, usage, answering) =>
          bodies.translateChat(completion, {
            ...{ head: { ...head, model: answering }, usage, completedAt: nowSeconds() },
          }),
        reader(events, answering) {
          stream.answeredBy(answering);
          return new ResponseEvents({ chat: events, stream, nowSeconds });
        },
      },
    };
  }
}

/** A chat whose prompt also has the conversation that it continues, so that its hold and limits include it. */
function longer(chat: ResponsesRequest["chat"], { tokens }: KeptResponse): ResponsesRequest["chat"] {
  const { maxTokens, likelyTokens, isShort } = chat.prompt;
  const prompt = { maxTokens: maxTokens + tokens, likelyTokens: likelyTokens + tokens, isShort };
  return { ...chat, prompt };
}

/** Throws `invalid_body` if the client asks for another model or provider than that of the previous response. */
function checkPlace(
  { model, provider }: KeptResponse,
  { chat }: ResponsesRequest,
  { pin = chat.preferences.pin }: RoutingPreferences,
): void {
  if (chat.model !== model)
    throw invalidField("model", `the previous response came from the model ${JSON.stringify(model)}`);
  if (pin !== undefined && pin !== provider)
    throw invalidField(
      "previous_response_id",
      "that response is kept by a provider other than the requested one",
    );
}

/** Whether a request failed because the provider that it must go to is not there, or not for this model. */
function isGone(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  const { code, param } = error;
  if (code === "model_not_found" || code === "provider_not_found") return true;
  return code === "provider_model_mismatch" && param === null;
}
