import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { type Fields, fieldsOf } from "../../../src/inference/body/fields.ts";
import { invalidField } from "../../../src/inference/body/invalid-field.ts";
import { type ChatRequest, readChatRequest } from "../../../src/inference/chat/chat-request.ts";
import { withoutAdded } from "../../../src/inference/guardrails/guarded-request.ts";
import { CACHE_SECONDS } from "../../shared/cache.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { AddressScalar, JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { withMembers } from "../members.ts";
import { TeeEvidenceType, toTeeEvidence } from "../requests/evidence.type.ts";
import { CostType } from "../requests/inference-request.type.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";

/** A message of a conversation. */
@InputType("ChatMessageInput", { description: "A message of a conversation, as in OpenAI's API." })
export class ChatMessageInput {
  @Field(() => String, { description: "The author's role, such as `user` or `system`." })
  role!: string;

  @Field(() => String, { nullable: true, description: "The text of the message." })
  content?: string | null;

  @Field(() => JsonScalar, {
    nullable: true,
    description:
      "Additional members of the message, such as `tool_calls`, or `content` as an array of parts.",
  })
  more?: unknown;
}

/** A chat completion request. */
@InputType("ChatInput", { description: "A chat completion request." })
export class ChatInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => [ChatMessageInput], { description: "The conversation so far." })
  messages!: readonly ChatMessageInput[];

  @Field(() => Int, { nullable: true, description: "The maximum number of completion tokens." })
  maxTokens?: number | null;

  @Field(() => JsonScalar, {
    nullable: true,
    description: "Additional members of OpenAI's request body, such as `temperature` or `tools`.",
  })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;
}

/** A chat completion that is answered at once. */
@InputType("CompleteChatInput", { description: "A chat completion request." })
export class CompleteChatInput extends ChatInput {
  @Field(() => Int, { nullable: true, description: CACHE_SECONDS })
  cacheSeconds?: number | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Maps the input to the chat request that REST would parse. Throws `invalid_body`. */
export async function toChatRequest(
  input: ChatInput,
  { stream }: { readonly stream: boolean },
): Promise<ChatRequest> {
  const { model, messages, maxTokens, options, verifyTee } = input;
  refuseUnshown(fieldsOf(options));
  const own = {
    model,
    messages: messages.map(toMessage),
    ...(maxTokens != null && { max_tokens: maxTokens }),
    verify_tee: verifyTee ?? false,
    stream,
  };
  const body = {
    ...withMembers(own, options, "options"),
    ...(stream && { stream_options: { include_usage: true } }),
  };
  const request = await readChatRequest(Buffer.from(JSON.stringify(body)));
  return stream ? withoutAdded(request, ["stream_options"]) : request;
}

/**
 * Throws `invalid_body` for what has no field in the graph: an answer in audio or images, which would be billed, and
 * log probabilities.
 */
function refuseUnshown({ audio, modalities, logprobs, top_logprobs: top }: Fields): void {
  const other = Array.isArray(modalities) && modalities.find((modality) => modality !== "text");
  if (other) throw noField("modalities", other === "image" ? "answers with images" : `answers in ${other}`);
  if (audio != null) throw noField("audio", "answers in audio");
  if (logprobs === true) throw noField("logprobs", LOGPROBS);
  if (typeof top === "number" && top > 0) throw noField("top_logprobs", LOGPROBS);
}

const LOGPROBS = "log probabilities";

function noField(option: string, what: string) {
  return invalidField(`options.${option}`, `the graph has no ${what}: use POST /v1/chat/completions`);
}

/** A message as in OpenAI's API. */
export function toMessage({ role, content, more }: ChatMessageInput, index: number): object {
  return withMembers({ role, ...(content != null && { content }) }, more, `messages.${index}.more`);
}

/** One choice of a chat completion. */
@ObjectType("ChatChoice", { description: "One choice of a chat completion.", simpleResolvers: true })
export class ChatChoiceType {
  @Field(() => Int, { description: "0-based index of the choice." })
  index!: number;

  @Field(() => String, { nullable: true, description: "The generated text. Null if there is none." })
  text!: string | null;

  @Field(() => String, { nullable: true, description: "The model's reasoning. Null if not reported." })
  reasoning!: string | null;

  @Field(() => [JsonScalar], {
    nullable: true,
    description: "The tool calls, as in OpenAI's API. Null if none.",
  })
  toolCalls!: readonly unknown[] | null;

  @Field(() => String, {
    nullable: true,
    description: "Why the choice ended, such as `stop`. Null while it runs.",
  })
  finishReason!: string | null;
}

/** The bill of a request. */
@ObjectType("InferenceBill", {
  description: "The bill of a request: its cost and the provider that served it.",
  simpleResolvers: true,
})
export class InferenceBillType {
  @Field(() => String, { description: "The request's raw id. Query `request(id)` for details." })
  requestId!: string;

  @Field(() => AddressScalar, { description: "The address of the provider that served the request." })
  providerAddress!: string;

  @Field(() => String, {
    nullable: true,
    description: "The id of the model that answered. Null unless the request named several models.",
  })
  modelId!: string | null;

  @Field(() => CostType, { description: "The cost of the request." })
  cost!: CostType;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the provider's acknowledged signer signed this answer. Null unless verification was requested.",
  })
  teeVerified!: boolean | null;

  @Field(() => TeeEvidenceType, {
    nullable: true,
    description: "What the provider's signature proves. Null unless verification was requested.",
  })
  teeEvidence!: TeeEvidenceType | null;

  @Field(() => String, {
    nullable: true,
    description:
      "Why the response lacks the proof that `routing` or the key requires. Null if the response has the proof, or if none is required.",
  })
  unproven!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      "The raw id of the earlier request whose stored response, with its evidence, was returned. Null if a provider answered.",
  })
  cachedFrom!: string | null;
}

/** Maps a billing trace to its GraphQL type. */
export function toBill(trace: Trace): InferenceBillType {
  const { input_cost, output_cost, total_cost, cache_saving = "0" } = trace.billing;
  return {
    requestId: trace.request_id,
    providerAddress: trace.provider,
    modelId: trace.model ?? null,
    cost: {
      ...{ input: BigInt(input_cost), output: BigInt(output_cost), total: BigInt(total_cost) },
      cacheSaving: cache_saving === null || trace.cached_from !== undefined ? null : BigInt(cache_saving),
    },
    teeVerified: trace.tee_verified ?? null,
    teeEvidence: trace.tee_evidence ? toTeeEvidence(trace.tee_evidence) : null,
    unproven: trace.error?.message ?? null,
    cachedFrom: trace.cached_from ?? null,
  };
}

/** A billed chat completion. */
@ObjectType("ChatCompletion", {
  description: "A chat completion.",
  simpleResolvers: true,
})
export class ChatCompletionType {
  @Field(() => [ChatChoiceType], { description: "The choices: as many as `options.n`. Default: 1." })
  choices!: readonly ChatChoiceType[];

  @Field(() => Int, { nullable: true, description: "The number of prompt tokens. Null if not reported." })
  inputTokens!: number | null;

  @Field(() => Int, { nullable: true, description: "The number of completion tokens. Null if not reported." })
  outputTokens!: number | null;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("CompleteChatPayload", {
  description: "The result of `completeChat`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CompleteChatPayload extends PayloadType {
  @Field(() => ChatCompletionType, { nullable: true, description: "The completion and its bill." })
  completion?: ChatCompletionType | null;
}

/** A piece of a streamed chat completion. */
@ObjectType("ChatPiece", {
  description: "A piece of a streamed chat completion; the last piece is the bill.",
  simpleResolvers: true,
})
export class ChatPieceType {
  @Field(() => ChatChoiceType, { nullable: true, description: "The new part. Null in the last piece." })
  delta!: ChatChoiceType | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of prompt tokens. Null except in the last piece.",
  })
  inputTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of completion tokens. Null except in the last piece.",
  })
  outputTokens!: number | null;

  @Field(() => InferenceBillType, {
    nullable: true,
    description: "The bill. Null except in the last piece: the completion is then complete.",
  })
  bill!: InferenceBillType | null;
}
