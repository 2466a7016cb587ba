import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { ChatOpenAI } from "@langchain/openai";
import { type LanguageModel, streamText } from "ai";
import { createParser } from "eventsource-parser";
import OpenAI from "openai";

/** A request for a client to stream, and callbacks for each text and comment. */
type Streamed = {
  readonly origin: string;
  readonly secret: string;
  readonly model: string;
  readonly onText: (text: string) => void;
  readonly onComment?: (comment: string) => void;
};

/** Streams an answer. Resolves with the finish reason; throws the client's error for a failed stream. */
type Read = (streamed: Streamed) => Promise<string | null | undefined>;

const PROMPT = "What is the sea?";
const messages = [{ role: "user" as const, content: PROMPT }];
const MAX_TOKENS = 100;

/** Without a client: the events of each format, read from the response. */
export const PLAIN_READERS: Readonly<Record<string, Read>> = {
  "fetch of a chat": (streamed) =>
    readPlain(streamed, "/v1/chat/completions", ({ choices }) => ({
      text: choices?.[0]?.delta.content,
      reason: choices?.[0]?.finish_reason,
    })),
  "fetch of a message": (streamed) =>
    readPlain(streamed, "/v1/messages", ({ delta }) => ({ text: delta?.text, reason: delta?.stop_reason })),
};

/** The official clients that stream answers. */
export const AI_CLIENTS: Readonly<Record<string, Read>> = {
  openai: async ({ origin, secret, model, onText }) => {
    const client = new OpenAI({ apiKey: secret, baseURL: `${origin}/v1`, maxRetries: 0 });
    let reason: string | undefined;
    for await (const { choices } of await client.chat.completions.create({ model, messages, stream: true })) {
      if (choices[0]?.delta.content) onText(choices[0].delta.content);
      reason = choices[0]?.finish_reason ?? reason;
    }
    return reason;
  },
  "openai's stream helper": async ({ origin, secret, model, onText }) => {
    const client = new OpenAI({ apiKey: secret, baseURL: `${origin}/v1`, maxRetries: 0 });
    const stream = client.chat.completions.stream({ model, messages });
    stream.on("content", (text) => text && onText(text));
    return (await stream.finalChatCompletion()).choices[0]?.finish_reason;
  },
  "@anthropic-ai/sdk": async ({ origin, secret, model, onText }) => {
    const client = new Anthropic({ apiKey: secret, baseURL: origin, maxRetries: 0 });
    const stream = client.messages.stream({ model, messages, max_tokens: MAX_TOKENS });
    stream.on("text", onText);
    return (await stream.finalMessage()).stop_reason;
  },
  "ai, as OpenAI": (streamed) => {
    const { origin, secret, model } = streamed;
    const baseURL = `${origin}/v1`;
    return readByAi(
      createOpenAICompatible({ name: "zerograph", apiKey: secret, baseURL }).chatModel(model),
      streamed,
    );
  },
  "ai, as Anthropic": (streamed) => {
    const { origin, secret, model } = streamed;
    return readByAi(createAnthropic({ apiKey: secret, baseURL: `${origin}/v1` }).messages(model), streamed);
  },
  "@langchain/openai": async ({ origin, secret, model, onText }) => {
    const configuration = { baseURL: `${origin}/v1` };
    const chat = new ChatOpenAI({
      apiKey: secret,
      model,
      configuration,
      maxRetries: 0,
      maxTokens: MAX_TOKENS,
    });
    let reason: string | undefined;
    for await (const { text, response_metadata } of await chat.stream(PROMPT)) {
      if (text) onText(text);
      const { finish_reason: last } = response_metadata;
      if (typeof last === "string") reason = last;
    }
    return reason;
  },
};

/** The code of a failure, where each client has it. */
export function codeOf(failure: unknown): unknown {
  const { code, error, data } = Object(failure);
  return code ?? error?.error?.code ?? data?.code;
}

async function readByAi(model: LanguageModel, { onText }: Streamed) {
  const onError = () => {};
  let reason: string | undefined;
  const { fullStream } = streamText({
    model,
    prompt: PROMPT,
    maxOutputTokens: MAX_TOKENS,
    maxRetries: 0,
    onError,
  });
  for await (const part of fullStream) {
    if (part.type === "text-delta") onText(part.text);
    if (part.type === "error") throw part.error;
    if (part.type === "finish") reason = part.finishReason;
  }
  return reason;
}

/** A part of an event's data, in either format. */
type PlainEvent = {
  readonly choices?: readonly {
    readonly delta: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly delta?: { readonly text?: string; readonly stop_reason?: string };
};

async function readPlain(
  { origin, secret, model, onText, onComment }: Streamed,
  path: string,
  partsOf: (event: PlainEvent) => {
    readonly text?: string | undefined;
    readonly reason?: string | null | undefined;
  },
) {
  const { body } = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model, messages, max_tokens: MAX_TOKENS, stream: true }),
  });
  let last: string | undefined;
  const parser = createParser({
    onEvent({ data }) {
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw Object.assign(new Error(event.error.message), { code: event.error.code });
      const { text, reason } = partsOf(event);
      if (text) onText(text);
      last = reason ?? last;
    },
    onComment: (comment) => onComment?.(comment),
  });
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  return last;
}
