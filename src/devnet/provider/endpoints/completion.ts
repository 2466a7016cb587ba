import { createHash } from "node:crypto";
import { z } from "zod";
import { sampleValue } from "../samples/sample-value.ts";

/** Each word is one token of the o200k and cl100k vocabularies, at the start of a text and after a space. */
const WORDS = (
  "the a of and to in is it that this one light water wind stone river field open small long old new bright quiet " +
  "time day night hand world name word line part place point way house side end set turn move play air land home " +
  "tree sea star book road green"
).split(" ");
const DEFAULT_TOKENS = 16;
const MAX_TOKENS = 64;

const MAX_CHOICES = 128;

const limit = z.int().min(1).nullish();
const toolFunction = z.looseObject({ name: z.string(), parameters: z.unknown().optional() });

/** The part of an OpenAI chat request that the stand-in provider reads; everything else is ignored. */
export const chatRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(z.unknown()).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: limit,
  max_completion_tokens: limit,
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  tools: z.array(z.looseObject({ function: toolFunction.nullish() })).nullish(),
  tool_choice: z
    .union([z.string(), z.looseObject({ function: z.looseObject({ name: z.string() }).nullish() })])
    .nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z.looseObject({ schema: z.unknown().optional() }).nullish(),
    })
    .nullish(),
});

/** A chat request that passed `chatRequestSchema`. */
export type ChatRequest = z.infer<typeof chatRequestSchema>;

/** A tool call, with its arguments as JSON text. */
type ToolCall = { readonly id: string; readonly name: string; readonly argumentsJson: string };

/** A response before it has an id: its text, one piece per token, and its usage. */
export type Completion = {
  readonly pieces: readonly string[];
  readonly finishReason: "stop" | "length" | "tool_calls";
  /** Set if a tool is called instead of a text. */
  readonly toolCall?: ToolCall | undefined;
  /** The number of choices, by default 1. */
  readonly choices?: number;
  /** OpenAI's `usage` object as JSON text. */
  readonly usageJson: string;
};

/** The fields of a response besides its completion. `created` is a Unix time in seconds. */
export type CompletionHead = { readonly id: string; readonly model: string; readonly created: number };

/**
 * Generates a response from the messages alone: the same conversation always gets the same text. It has exactly as many
 * tokens as the smaller of the request's limits allows, at most 64, and 16 without a limit; its `n` choices are equal.
 * The first offered tool is called unless its result is already there; a structured response matches its schema.
 */
export function composeCompletion(request: ChatRequest, promptTokens: number): Completion {
  const limits = [request.max_tokens, request.max_completion_tokens].filter(
    (value) => typeof value === "number",
  );
  const wanted = limits.length > 0 ? Math.min(...limits) : undefined;
  const tokens = Math.min(wanted ?? DEFAULT_TOKENS, MAX_TOKENS);
  const choices = request.n ?? 1;
  const completionTokens = tokens * choices;
  const usageJson = JSON.stringify({
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  });
  const toolCall = toolCallOf(request);
  if (toolCall) return { pieces: [], finishReason: "tool_calls", toolCall, choices, usageJson };
  const structured = structuredAnswer(request);
  if (structured !== undefined) return { pieces: [structured], finishReason: "stop", choices, usageJson };
  return {
    pieces: generateWords(seedOf(request.messages), tokens),
    finishReason: tokens === wanted ? "length" : "stop",
    choices,
    usageJson,
  };
}

/** The plain form: one `chat.completion` object, as JSON text. */
export function toPlainAnswer({ id, model, created }: CompletionHead, completion: Completion): string {
  const { pieces, finishReason, toolCall, usageJson } = completion;
  const message = toolCall
    ? { role: "assistant", content: null, refusal: null, tool_calls: [toolCallBody(toolCall)] }
    : { role: "assistant", content: pieces.join(""), refusal: null };
  const choices = indexesOf(completion).map((index) => ({
    ...{ index, message },
    ...{ logprobs: null, finish_reason: finishReason },
  }));
  const named = { id, object: "chat.completion", created, model, system_fingerprint: null };
  const head = JSON.stringify({ ...named, choices });
  return `${head.slice(0, -1)},"usage":${usageJson}}`;
}

/**
 * The streamed form, one server-sent event per item: the role, the text in `chunks` parts (by default one per token),
 * the finish reason, the usage if requested, and `[DONE]`.
 */
export function toEvents(
  { id, model, created }: CompletionHead,
  completion: Completion,
  { includeUsage, chunks }: { readonly includeUsage: boolean; readonly chunks?: number | undefined },
): string[] {
  const head = JSON.stringify({ id, object: "chat.completion.chunk", created, model }).slice(0, -1);
  const event = (index: number, delta: object, finishReason: string | null) =>
    `data: ${head},"choices":[${JSON.stringify({ index, delta, finish_reason: finishReason })}]}\n\n`;
  const deltas = [
    { role: "assistant", content: "" },
    ...(completion.toolCall ? toolCallDeltas(completion.toolCall) : []),
    ...inChunks(completion.pieces, chunks).map((content) => ({ content })),
  ];
  return [
    ...indexesOf(completion).flatMap((index) => [
      ...deltas.map((delta) => event(index, delta, null)),
      event(index, {}, completion.finishReason),
    ]),
    ...(includeUsage ? [`data: ${head},"choices":[],"usage":${completion.usageJson}}\n\n`] : []),
    "data: [DONE]\n\n",
  ];
}

function indexesOf({ choices = 1 }: Completion): readonly number[] {
  return Array.from({ length: choices }, (_, index) => index);
}

/** Words of one token each, deterministic by seed; all but the first begin with a space. */
export function generateWords(seed: number, count: number): string[] {
  let state = seed >>> 0;
  return Array.from({ length: count }, (_, index) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const word = WORDS[Math.floor((state / 2 ** 32) * WORDS.length)];
    return index === 0 ? `${word}` : ` ${word}`;
  });
}

/** The parts of a streamed text: one per piece, or joined into `chunks` parts. */
export function inChunks(pieces: readonly string[], chunks: number = pieces.length): readonly string[] {
  const size = Math.ceil(pieces.length / Math.max(1, chunks));
  if (size <= 1) return pieces;
  return Array.from({ length: Math.ceil(pieces.length / size) }, (_, index) =>
    pieces.slice(index * size, (index + 1) * size).join(""),
  );
}

function seedOf(messages: readonly unknown[]): number {
  return createHash("sha256").update(JSON.stringify(messages)).digest().readUInt32LE(0);
}

function toolCallOf({ tools, tool_choice: choice, messages }: ChatRequest): ToolCall | undefined {
  if (choice === "none" || isToolResult(messages.at(-1))) return undefined;
  const wanted = typeof choice === "object" ? choice?.function?.name : undefined;
  const offered = (tools ?? []).flatMap((tool) => (tool.function ? [tool.function] : []));
  const called = offered.find(({ name }) => wanted === undefined || name === wanted);
  if (!called) return undefined;
  const argumentsJson = JSON.stringify(sampleValue(called.parameters) ?? {});
  return { id: `call_${seedOf(messages).toString(36)}`, name: called.name, argumentsJson };
}

function isToolResult(message: unknown): boolean {
  return typeof message === "object" && message !== null && "role" in message && message.role === "tool";
}

function toolCallBody({ id, name, argumentsJson }: ToolCall) {
  return { id, type: "function", function: { name, arguments: argumentsJson } };
}

/** The call's name first, then its arguments in two parts. */
function toolCallDeltas(call: ToolCall): readonly object[] {
  const { argumentsJson } = call;
  const middle = Math.ceil(argumentsJson.length / 2);
  const parts = [argumentsJson.slice(0, middle), argumentsJson.slice(middle)];
  return [
    { tool_calls: [{ index: 0, ...toolCallBody({ ...call, argumentsJson: "" }) }] },
    ...parts.map((part) => ({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
  ];
}

function structuredAnswer({ response_format: format }: ChatRequest): string | undefined {
  if (format?.type === "json_schema") return JSON.stringify(sampleValue(format.json_schema?.schema));
  return format?.type === "json_object" ? '{"answer":"light"}' : undefined;
}
