import type { TokenUsage } from "../billing/pricing.ts";
import type { StreamReader } from "../dispatch/stream-options.ts";
import type { ChatEvents } from "./chat-events.ts";
import type { ChatRequest } from "./chat-request.ts";

/** How the answer of a chat by a model becomes one in another format. */
export type AnswerTranslation = {
  /** Translates a valid whole answer. Throws `unavailable`. */
  whole(completion: Buffer, billed: TokenUsage, model: string): Promise<Buffer>;
  /** Translates the events of one attempt. */
  reader(events: ChatEvents, model: string): StreamReader;
};

/** A chat, and how its answer is translated for a client that requested another format. */
export type TranslatedChat = ChatRequest & { readonly translation?: AnswerTranslation | undefined };
