import "../../shared/schema/reflect.ts";
import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/admitted.ts";
import { type ChatRequest, readChatRequest } from "../../../src/inference/chat/chat-request.ts";
import { AddressScalar, JsonScalar } from "../../shared/schema/scalars.ts";
import { CostType } from "../requests/inference-request.type.ts";
import { RoutingInput } from "../routing/routing.type.ts";

/** A message of a conversation. */
@InputType("ChatMessageInput", { description: "A message of a conversation, as OpenAI's API has it." })
export class ChatMessageInput {
  @Field(() => String, { description: "Who speaks, such as `user` or `system`." })
  role!: string;

  @Field(() => String, { nullable: true, description: "What is said." })
  content?: string | null;

  @Field(() => JsonScalar, {
    nullable: true,
    description: "The message's further members, such as `tool_calls`, or `content` in parts.",
  })
  more?: unknown;
}

/** A chat. */
@InputType("ChatInput", { description: "A chat completion request." })
export class ChatInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => [ChatMessageInput], { description: "The conversation so far." })
  messages!: readonly ChatMessageInput[];

  @Field(() => Int, { nullable: true, description: "How many tokens the answer may have." })
  maxTokens?: number | null;

  @Field(() => JsonScalar, {
    nullable: true,
    description: "Further members of OpenAI's request, such as `temperature` or `tools`.",
  })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "How to choose the provider." })
  routing?: RoutingInput | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether to check the provider's signature of the answer.",
  })
  verifyTee?: boolean | null;
}

/** The chat request that an input means: the one that REST would read. Throws `invalid_body`. */
export function toChatRequest(
  input: ChatInput,
  { stream }: { readonly stream: boolean },
): Promise<ChatRequest> {
  const { model, messages, maxTokens, options, verifyTee } = input;
  const body = {
    ...membersOf(options),
    model,
    messages: messages.map(toMessage),
    ...(maxTokens != null && { max_tokens: maxTokens }),
    verify_tee: verifyTee ?? false,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
  };
  return readChatRequest(Buffer.from(JSON.stringify(body)));
}

/** A message as OpenAI's API has it. */
export function toMessage({ role, content, more }: ChatMessageInput): object {
  return { role, ...(content != null && { content }), ...membersOf(more) };
}

function membersOf(value: unknown): object {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** One answer of a chat. */
@ObjectType("ChatChoice", { description: "One answer.", simpleResolvers: true })
export class ChatChoiceType {
  @Field(() => Int, { description: "Its number, from 0." })
  index!: number;

  @Field(() => String, { nullable: true, description: "What is answered." })
  text!: string | null;

  @Field(() => String, { nullable: true, description: "What the model thought before, where it tells." })
  reasoning!: string | null;

  @Field(() => [JsonScalar], { nullable: true, description: "The tools to call, as OpenAI's API has them." })
  toolCalls!: readonly unknown[] | null;

  @Field(() => String, { nullable: true, description: "Why it ends, such as `stop` or `length`." })
  finishReason!: string | null;
}

/** What a request used and cost. */
@ObjectType("InferenceBill", {
  description: "What a request used, cost, and who served it.",
  simpleResolvers: true,
})
export class InferenceBillType {
  @Field(() => ID, { description: "The request's id: `request(id)` tells more of it." })
  requestId!: string;

  @Field(() => AddressScalar, { description: "The address of who answered." })
  provider!: string;

  @Field(() => CostType, { description: "What it cost." })
  cost!: CostType;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether the provider's signature is valid. Null unless verification was requested.",
  })
  teeVerified!: boolean | null;
}

/** What the graph tells of a bill. */
export function toBill(trace: Trace): InferenceBillType {
  const { input_cost, output_cost, total_cost } = trace.billing;
  return {
    requestId: trace.request_id,
    provider: trace.provider,
    cost: { input: BigInt(input_cost), output: BigInt(output_cost), total: BigInt(total_cost) },
    teeVerified: trace.tee_verified ?? null,
  };
}

/** An answered chat. */
@ObjectType("ChatCompletion", {
  description: "A chat that was answered and paid for.",
  simpleResolvers: true,
})
export class ChatCompletionType {
  @Field(() => [ChatChoiceType], { description: "The answers: `n` of them, by default one." })
  choices!: readonly ChatChoiceType[];

  @Field(() => Int, { nullable: true, description: "Tokens of the question, where the provider tells." })
  inputTokens!: number | null;

  @Field(() => Int, { nullable: true, description: "Tokens of the answers, where the provider tells." })
  outputTokens!: number | null;

  @Field(() => InferenceBillType, { description: "What it cost, and who answered." })
  bill!: InferenceBillType;
}

/** A piece of a chat's answer. */
@ObjectType("ChatPiece", {
  description: "A piece of an answer as it comes; the last one is the bill.",
  simpleResolvers: true,
})
export class ChatPieceType {
  @Field(() => ChatChoiceType, { nullable: true, description: "What came, null with the bill." })
  delta!: ChatChoiceType | null;

  @Field(() => Int, { nullable: true, description: "Tokens of the question, with the bill." })
  inputTokens!: number | null;

  @Field(() => Int, { nullable: true, description: "Tokens of the answer, with the bill." })
  outputTokens!: number | null;

  @Field(() => InferenceBillType, { nullable: true, description: "What it cost: then the answer is whole." })
  bill!: InferenceBillType | null;
}
