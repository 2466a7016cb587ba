import type { Clock } from "../../kernel/clock.ts";
import type { Caller } from "../billing/admitted.ts";
import type { BodyPool } from "../body/body-pool.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import type { TranslatedChat } from "../chat/answer-translation.ts";
import type { ChatService } from "../chat/chat.service.ts";
import type { StreamSink } from "../dispatch/stream-options.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import { ResponseEvents } from "./response-events.ts";
import type { ResponseHead } from "./response-object.ts";
import { ResponseStream } from "./response-stream.ts";
import type { ResponsesRequest } from "./responses-request.ts";

type Dependencies = {
  readonly chat: Pick<ChatService, "complete" | "stream">;
  readonly bodies: Pick<BodyPool, "translateChat">;
  readonly clock: Pick<Clock, "now">;
};

/** Runs OpenAI's Responses as chats, which every provider of a chatbot has: admitted, billed and retried like these. */
export class ResponsesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns a whole response once its bill is committed. Throws what `ChatService.complete` throws. */
  create(
    request: ResponsesRequest,
    caller: Caller,
    { signal, preferences }: { readonly signal: AbortSignal; readonly preferences: RoutingPreferences },
  ): Promise<ShownAnswer> {
    return this.#dependencies.chat.complete(this.#translated(request, caller), caller, signal, preferences);
  }

  /** Streams a response into `sink` as `ChatService.stream` does a chat. */
  stream(
    request: ResponsesRequest,
    caller: Caller,
    sink: StreamSink,
    preferences: RoutingPreferences,
  ): Promise<void> {
    return this.#dependencies.chat.stream(this.#translated(request, caller), caller, sink, preferences);
  }

  /** The chat whose answer is translated to this response. */
  #translated({ chat, hasSummary, repeated }: ResponsesRequest, { requestId }: Caller): TranslatedChat {
    const { bodies } = this.#dependencies;
    const nowSeconds = () => Math.floor(this.#dependencies.clock.now().getTime() / 1_000);
    const id = `resp_${requestId.replace(/^req-/, "")}`;
    const head: ResponseHead = { id, model: chat.model, createdAt: nowSeconds(), hasSummary, repeated };
    const stream = new ResponseStream(head);
    return {
      ...chat,
      translation: {
        whole: (completion, usage, model) =>
          bodies.translateChat(completion, { head: { ...head, model }, usage, completedAt: nowSeconds() }),
        reader(events, model) {
          stream.answeredBy(model);
          return new ResponseEvents({ chat: events, stream, nowSeconds });
        },
      },
    };
  }
}
