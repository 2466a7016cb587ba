import "../../shared/schema/reflect.ts";
import { Field, InputType, Int } from "type-graphql";
import { withoutAdded } from "../../../src/inference/guardrails/guarded-request.ts";
import { formatHeaders } from "../../../src/inference/messages/format-headers.ts";
import type { MessageOptions } from "../../../src/inference/messages/messages.service.ts";
import {
  type MessagesPrompt,
  type MessagesRequest,
  readMessagesRequest,
  readTokenCountRequest,
} from "../../../src/inference/messages/messages-request.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateScalar, JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { withMembers } from "../members.ts";
import { RoutingInput, toPreferences } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";

/** Anthropic's API requires a limit; this is that of its own examples. */
const DEFAULT_MAX_TOKENS = 1_024;

type Role = "user" | "assistant" | "system";

/** The author of a message. */
const MessageRole = defineEnum<Role>("MessageRole", "The author of a message in Anthropic's format.", {
  user: "The user.",
  assistant: "The model. If the last message has this role, the answer continues it.",
  system: "Instructions within the conversation, for models that support them.",
});

/** A message of a prompt. */
@InputType("PromptMessageInput", { description: "A message of a conversation, in Anthropic's format." })
export class PromptMessageInput {
  @Field(() => MessageRole, { description: "The author of the message." })
  role!: Role;

  @Field(() => JsonScalar, {
    description: "The text of the message, or its content blocks as a list, as in Anthropic's API.",
  })
  content!: unknown;
}

/** The prompt of a message. */
@InputType("MessagePromptInput", { description: "The prompt of a message, in Anthropic's format." })
abstract class MessagePromptInput {
  @Field(() => String, { description: "The id of the model, which must support the format `ANTHROPIC`." })
  model!: string;

  @Field(() => [PromptMessageInput], { description: "The conversation so far." })
  messages!: readonly PromptMessageInput[];

  @Field(() => JsonScalar, {
    nullable: true,
    description: "Instructions for the model: a text, or content blocks as a list.",
  })
  system?: unknown;

  @Field(() => [JsonScalar], {
    nullable: true,
    description: "The tools that the model may use, as in Anthropic's API.",
  })
  tools?: readonly unknown[] | null;

  @Field(() => JsonScalar, {
    nullable: true,
    description: "Additional members of Anthropic's request body, such as `temperature` or `thinking`.",
  })
  options?: unknown;

  @Field(() => DateScalar, {
    nullable: true,
    description: "The version of Anthropic's API, `anthropic-version` in REST. Default: `2023-06-01`.",
  })
  anthropicVersion?: string | null;

  @Field(() => [String], {
    nullable: true,
    description: "The names of Anthropic's beta features to use, `anthropic-beta` in REST.",
  })
  anthropicBeta?: readonly string[] | null;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;
}

/** A prompt whose tokens are counted. */
@InputType("MessageTokenCountInput", {
  description: "A prompt in Anthropic's format, whose tokens are counted.",
})
export class MessageTokenCountInput extends MessagePromptInput {}

/** A message to create. */
@InputType("MessageInput", { description: "A request for a message, in Anthropic's format." })
export class MessageInput extends MessagePromptInput {
  @Field(() => Int, {
    nullable: true,
    description: `The maximum number of tokens of the message. Default: ${DEFAULT_MAX_TOKENS}, or the key's \`maxOutputTokens\` if that is less.`,
  })
  maxTokens?: number | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;
}

/** A message that is answered at once. */
@InputType("CreateMessageInput", { description: "A request for a message, in Anthropic's format." })
export class CreateMessageInput extends MessageInput {
  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** The request that REST would parse. Throws `invalid_body`. */
export async function toMessagesRequest(
  input: MessageInput,
  { stream }: { readonly stream: boolean },
): Promise<MessagesRequest> {
  const { maxTokens, verifyTee, options } = input;
  const limit = maxTokens != null && { max_tokens: maxTokens };
  const own = { ...promptOf(input), ...limit, verify_tee: verifyTee ?? false, stream };
  const sent = withMembers(own, options, "options");
  const isLimitDefault = !("max_tokens" in sent);
  const body = { max_tokens: DEFAULT_MAX_TOKENS, ...sent };
  const request = await readMessagesRequest(Buffer.from(JSON.stringify(body)));
  const added = ["stream", ...(isLimitDefault ? ["max_tokens"] : [])];
  return { ...withoutAdded(request, added), isLimitDefault };
}

/** The token-count request that REST would parse. Throws `invalid_body`. */
export function toTokenCountRequest(input: MessageTokenCountInput): Promise<MessagesPrompt> {
  return readTokenCountRequest(
    Buffer.from(JSON.stringify(withMembers(promptOf(input), input.options, "options"))),
  );
}

/** The headers and preferences that REST would read. Throws `invalid_parameter` and `invalid_max_price_usd`. */
export function toMessageOptions(input: MessagePromptInput): MessageOptions {
  const { anthropicVersion, anthropicBeta, routing } = input;
  const beta = anthropicBeta?.length ? anthropicBeta.join(",") : undefined;
  return {
    headers: formatHeaders({ version: anthropicVersion ?? undefined, beta }),
    preferences: toPreferences(routing),
  };
}

function promptOf({ model, messages, system, tools }: MessagePromptInput): object {
  return {
    model,
    messages,
    ...(system != null && { system }),
    ...(tools != null && { tools }),
  };
}
