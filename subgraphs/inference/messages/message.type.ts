import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { readInputUsage, readOutputUsage } from "../../../src/inference/messages/messages-usage.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType, toBill } from "../chat/chat.type.ts";

/** A billed message. */
@ObjectType("Message", {
  description: "A message from a model, in Anthropic's format.",
  simpleResolvers: true,
})
export class MessageType {
  @Field(() => String, { description: "The text blocks of the message, joined. Empty if it has none." })
  text!: string;

  @Field(() => [JsonScalar], {
    description: "The content blocks, as in Anthropic's API: texts, thinking and uses of tools.",
  })
  content!: readonly unknown[];

  @Field(() => String, {
    nullable: true,
    description: "Why the message ended, such as `end_turn`. Null if not reported.",
  })
  stopReason!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The stop sequence that ended the message. Null if none did.",
  })
  stopSequence!: string | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The number of prompt tokens, including those read from or written to a cache. Null if not reported.",
  })
  inputTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of tokens of the message. Null if not reported.",
  })
  outputTokens!: number | null;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("CreateMessagePayload", {
  description: "The result of `createMessage`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateMessagePayload extends PayloadType {
  @Field(() => MessageType, { nullable: true, description: "The message and its bill." })
  message?: MessageType | null;
}

/** The new part of a streamed message. */
@ObjectType("MessageDelta", {
  description:
    "The new part of a streamed message. Every field but `event` is null unless the part contains it.",
  simpleResolvers: true,
})
export class MessageDeltaType {
  @Field(() => Int, { nullable: true, description: "0-based index of the content block." })
  index!: number | null;

  @Field(() => String, { nullable: true, description: "New text of the block." })
  text!: string | null;

  @Field(() => String, { nullable: true, description: "New text of the model's thinking." })
  thinking!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      "A new part of a tool's input: a fragment of its JSON. The `event` that begins the content block names the tool.",
  })
  toolInput!: string | null;

  @Field(() => String, { nullable: true, description: "Why the message ended, such as `end_turn`." })
  stopReason!: string | null;

  @Field(() => JsonScalar, { description: "The event as in a stream of Anthropic's API." })
  event!: unknown;
}

/** A piece of a streamed message. */
@ObjectType("MessagePiece", {
  description: "A piece of a streamed message; the last piece is the bill.",
  simpleResolvers: true,
})
export class MessagePieceType {
  @Field(() => MessageDeltaType, { nullable: true, description: "The new part. Null in the last piece." })
  delta!: MessageDeltaType | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The number of prompt tokens, including those read from or written to a cache. Null except in the last piece.",
  })
  inputTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of tokens of the message. Null except in the last piece.",
  })
  outputTokens!: number | null;

  @Field(() => InferenceBillType, {
    nullable: true,
    description: "The bill. Null except in the last piece: the message is then complete.",
  })
  bill!: InferenceBillType | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** A whole message as REST answers it. */
export type MessageAnswer = {
  readonly content: readonly Fields[];
  readonly stop_reason?: string | null;
  readonly stop_sequence?: string | null;
  readonly usage?: unknown;
  readonly x_0g_trace: Trace;
};

/** Maps a message to its GraphQL type. */
export function toMessage({
  content,
  stop_reason,
  stop_sequence,
  usage,
  x_0g_trace,
}: MessageAnswer): MessageType {
  return {
    text: content.map(({ type, text }) => (type === "text" ? (textOf(text) ?? "") : "")).join(""),
    content,
    stopReason: stop_reason ?? null,
    stopSequence: stop_sequence ?? null,
    inputTokens: readInputUsage(usage, Number.MAX_SAFE_INTEGER)?.inputTokens ?? null,
    outputTokens: readOutputUsage(usage, Number.MAX_SAFE_INTEGER) ?? null,
    bill: toBill(x_0g_trace),
  };
}

/** Maps an event of a stream to its GraphQL type. */
export function toMessageDelta(event: Fields): MessageDeltaType {
  const delta = (event.delta ?? {}) as Fields;
  return {
    index: Number.isSafeInteger(event.index) ? (event.index as number) : null,
    text: textOf(delta.text),
    thinking: textOf(delta.thinking),
    toolInput: textOf(delta.partial_json),
    stopReason: textOf(delta.stop_reason),
    event,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
