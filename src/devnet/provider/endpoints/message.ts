import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Completion, chatRequestSchema, composeCompletion, inChunks } from "./completion.ts";

const block = z.looseObject({ type: z.string(), text: z.string().optional() });
const content = z.union([z.string(), z.array(block)]);

const outputFormat = z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish();

const messagesRequestSchema = z.looseObject({
  model: z.string(),
  max_tokens: z.int().min(1).optional(),
  messages: z.array(z.looseObject({ role: z.string(), content })).min(1),
  system: content.nullish(),
  stream: z.boolean().nullish(),
  /** A set of tools, such as that of a browser, has no name; it is never called here. */
  tools: z
    .array(z.looseObject({ name: z.string().optional(), input_schema: z.unknown().optional() }))
    .nullish(),
  tool_choice: z.looseObject({ type: z.string(), name: z.string().optional() }).nullish(),
  output_config: z.looseObject({ format: outputFormat }).nullish(),
  /** The name of `output_config.format` in Anthropic's beta. */
  output_format: outputFormat,
});

/** A request in Anthropic's Messages format, as far as the stand-in provider reads it. */
export type MessagesRequest = z.infer<typeof messagesRequestSchema>;

/** Reads a request; undefined for an invalid one. Only a token count may omit `max_tokens`. */
export function readMessagesRequest(body: string): MessagesRequest | undefined {
  try {
    return messagesRequestSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** The conversation in OpenAI's shape, the system prompt first, for counting tokens. */
export function conversationOf({ system, messages }: MessagesRequest): readonly unknown[] {
  return [...(system ? [{ role: "system", content: system }] : []), ...messages];
}

/** Generates the response to a request, like that of a chat. */
export function composeMessage(request: MessagesRequest, promptTokens: number): Completion {
  const { tools, tool_choice: choice, messages, model, max_tokens } = request;
  const format = request.output_config?.format ?? request.output_format;
  const last = messages.at(-1)?.content;
  const hasResult = Array.isArray(last) && last.some(({ type }) => type === "tool_result");
  const isFree = choice?.type !== "none" && !hasResult;
  const chat = chatRequestSchema.parse({
    model,
    messages: conversationOf(request),
    max_tokens,
    tools: isFree
      ? tools?.flatMap(({ name, input_schema }) =>
          name === undefined ? [] : [{ function: { name, parameters: input_schema } }],
        )
      : [],
    ...(choice?.name !== undefined && { tool_choice: { function: { name: choice.name } } }),
    ...(format && { response_format: { type: format.type, json_schema: { schema: format.schema } } }),
  });
  return composeCompletion(chat, promptTokens);
}

/**
 * The head of a message: its model, the tokens that were read from the cache, and a `usage` object that replaces the true
 * one, as JSON text.
 */
export type MessageHead = {
  readonly model: string;
  readonly cachedTokens?: number | undefined;
  readonly usageJson?: string | undefined;
};

/** The plain form: one `message` object, as JSON text, and its id. */
export function toMessage({ model, usageJson, cachedTokens }: MessageHead, completion: Completion) {
  const id = `msg_${randomUUID().replaceAll("-", "")}`;
  const head = { id, type: "message", role: "assistant", model, content: contentOf(completion) };
  const end = { stop_reason: stopReason(completion), stop_sequence: null };
  const text = JSON.stringify({ ...head, ...end });
  return {
    id,
    text: `${text.slice(0, -1)},"usage":${usageJson ?? JSON.stringify(usageOf(completion, cachedTokens))}}`,
  };
}

/** The streamed form, one named server-sent event per item. */
export function toMessageEvents(
  { model, usageJson, cachedTokens }: MessageHead,
  completion: Completion,
  chunks: number | undefined,
): { readonly id: string; readonly events: readonly string[] } {
  const id = `msg_${randomUUID().replaceAll("-", "")}`;
  const { output_tokens, ...input } = usageOf(completion, cachedTokens);
  const begun = { id, type: "message", role: "assistant", model, content: [], stop_reason: null };
  const message = { ...begun, stop_sequence: null, usage: { ...input, output_tokens: 1 } };
  const [block] = contentOf(completion);
  const empty = block?.type === "tool_use" ? { ...block, input: {} } : { type: "text", text: "" };
  const delta = JSON.stringify({ stop_reason: stopReason(completion), stop_sequence: null });
  const events = [
    event("message_start", { message }),
    event("content_block_start", { index: 0, content_block: empty }),
    event("ping", {}),
    ...deltasOf(completion, chunks).map((part) => event("content_block_delta", { index: 0, delta: part })),
    event("content_block_stop", { index: 0 }),
    `event: message_delta\ndata: {"type":"message_delta","delta":${delta},"usage":${usageJson ?? JSON.stringify({ output_tokens })}}\n\n`,
    event("message_stop", {}),
  ];
  return { id, events };
}

type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

function contentOf({ pieces, toolCall }: Completion): readonly Block[] {
  if (!toolCall) return [{ type: "text", text: pieces.join("") }];
  const { id, name, argumentsJson } = toolCall;
  return [{ type: "tool_use", id: id.replace("call_", "toolu_"), name, input: JSON.parse(argumentsJson) }];
}

function deltasOf({ pieces, toolCall }: Completion, chunks: number | undefined): readonly object[] {
  if (!toolCall) return inChunks(pieces, chunks).map((text) => ({ type: "text_delta", text }));
  const { argumentsJson } = toolCall;
  const middle = Math.ceil(argumentsJson.length / 2);
  return [argumentsJson.slice(0, middle), argumentsJson.slice(middle)].map((partial_json) => ({
    type: "input_json_delta",
    partial_json,
  }));
}

function stopReason({ finishReason }: Completion): string {
  return { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" }[finishReason];
}

/** Anthropic's `input_tokens` are those that were not read from the cache. */
function usageOf({ usageJson }: Completion, cachedTokens: number | undefined) {
  const { prompt_tokens = 0, completion_tokens = 0 } = JSON.parse(usageJson) as Record<string, number>;
  return {
    input_tokens: prompt_tokens - (cachedTokens ?? 0),
    output_tokens: completion_tokens,
    ...(cachedTokens !== undefined && { cache_read_input_tokens: cachedTokens }),
  };
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
