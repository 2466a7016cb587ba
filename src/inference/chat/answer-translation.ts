import type { TokenUsage } from "../billing/pricing.ts";
import type { UsageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import type { Reading } from "../dispatch/reading.ts";
import type { StreamReader } from "../dispatch/stream-options.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import type { ApiFormat, Profile } from "../providers/profile.ts";
import type { Provider } from "../providers/provider.ts";
import type { FormatNeeds } from "../routing/choice-context.ts";
import type { ChatEvents } from "./chat-events.ts";
import type { ChatRequest } from "./chat-request.ts";

/** How the answer of a chat by a model becomes one in another format. */
export type AnswerTranslation = {
  /** Translates a valid whole answer. Throws `unavailable`. */
  whole(completion: Buffer, billed: TokenUsage, model: string): Promise<Buffer>;
  /** Translates the events of one attempt. */
  reader(events: ChatEvents, model: string): StreamReader;
};

/** What the answer of one provider is billed by. */
export type AnswerBounds = {
  readonly limits: UsageLimits;
  /** The model as the client named it, if the provider's name differs. */
  readonly model?: string | undefined;
  /** The provider's URL, which clients do not see. */
  readonly providerUrl?: string | undefined;
  /** Counts the tokens of the prompt. Never rejects. */
  countInput(): Promise<number>;
  /** Records that the provider keeps the answer, by its own id. */
  keep(answerId: string): void;
};

/** How providers that have the client's format serve a request, which the others get as a chat. */
export type NativeForm = {
  readonly format: ApiFormat;
  readonly path: `/${string}`;
  /** Which offers serve the request, in either form. */
  readonly needs: FormatNeeds;
  /** Whether an offer serves it in this form. */
  isServedBy(profile: Profile): boolean;
  /** Tokens of the prompt that a chat does not have, an estimate. */
  readonly moreTokens: number;
  /** The body for this provider. `maxTokens` limits an answer for which the client sets no limit. */
  body(provider: Provider, maxTokens: number): Buffer;
  /** Reads a whole answer as `readChat` does. */
  read(answer: ProviderAnswer, bounds: AnswerBounds, bodies: Bodies): Promise<Reading>;
  /** Reads the events of one attempt. */
  reader(bounds: AnswerBounds, bodies: Bodies): StreamReader;
};

/** A chat for a client that requested another format: how its answer is translated, and who needs no translation. */
export type TranslatedChat = ChatRequest & {
  readonly translation?: AnswerTranslation | undefined;
  readonly native?: NativeForm | undefined;
};
