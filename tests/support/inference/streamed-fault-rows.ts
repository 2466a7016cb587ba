import { countPromptTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import { type FaultRow, tokenPrices, tokens } from "./fault-row.ts";
import { nativeResponse, RESPONSE_HEAD, RESPONSE_WORDS, responseTail } from "./native-responses.ts";
import { jsonAnswer } from "./provider-faults.ts";
import {
  completion,
  DONE,
  event,
  FINISH,
  ROLE,
  TEXT,
  USAGE,
  USAGE_CHUNK,
  WORDS,
} from "./scripted-provider.ts";

/** The text of a request. */
export const INPUT = "What is the sea?";
const MESSAGES = [{ role: "user", content: INPUT }];
const PROMPT = countPromptTokens(MESSAGES);
const CUT = countTokens(WORDS.slice(0, 2).join(""));
const WHOLE = tokens(USAGE.prompt_tokens, USAGE.completion_tokens);
const REPORTED_CHAT = (input: unknown, output: unknown) => ({
  prompt_tokens: input,
  completion_tokens: output,
});

const COMPLETION = { id: "cmpl-1", object: "text_completion", created: 1, model: "theirs" };
const completed = (fields: object = {}) =>
  jsonAnswer({
    ...COMPLETION,
    choices: [{ index: 0, text: TEXT, logprobs: null, finish_reason: "stop" }],
    usage: USAGE,
    ...fields,
  });
const completionEvent = (choices: readonly object[], more: object = {}) =>
  `data: ${JSON.stringify({ ...COMPLETION, choices, ...more })}\n\n`;
const completionWord = (text: string, reason: string | null = null) =>
  completionEvent([{ index: 0, text, logprobs: null, finish_reason: reason }]);

/** POST /v1/responses, which providers answer as a chat. */
export const responses: FaultRow = {
  offer: (n) => ({ pricing: tokenPrices(n) }),
  body: { input: INPUT, max_output_tokens: 50 },
  answer: jsonAnswer(completion()),
  cost: WHOLE,
  invalid: {
    "no choices": jsonAnswer(completion({ choices: [] })),
    "a choice without a message": jsonAnswer(completion({ choices: [{ index: 0 }] })),
    "the choices of a text completion": completed(),
    "a response where a chat was asked for": jsonAnswer({ id: "resp_1", object: "response", output: [] }),
  },
  maxMib: 16,
  usage: {
    report: (usage) => jsonAnswer(completion({ usage })),
    of: REPORTED_CHAT,
    counted: tokens(PROMPT, countTokens(TEXT)),
  },
  stream: {
    head: [ROLE],
    words: WORDS.map((content) => event({ delta: { content } })),
    tail: [FINISH, USAGE_CHUNK, DONE],
    foreign: completionWord("The"),
    cutCost: tokens(PROMPT, CUT),
  },
};

/** The same, which providers answer that have this format themselves. */
export const nativeResponses: FaultRow = {
  ...responses,
  offer: (n) => ({ supported_formats: ["openai", "responses"], pricing: tokenPrices(n) }),
  answer: jsonAnswer(nativeResponse()),
  invalid: {
    "output that is no list": jsonAnswer(nativeResponse({ output: "four" })),
    "a response that is not over": jsonAnswer(nativeResponse({ status: "in_progress" })),
    "a response that failed": jsonAnswer(
      nativeResponse({ status: "failed", error: { code: "server_error", message: "overloaded" } }),
    ),
    "the choices of a chat": jsonAnswer(completion()),
  },
  usage: {
    report: (usage) => jsonAnswer(nativeResponse({ usage })),
    of: (input_tokens, output_tokens) => ({ input_tokens, output_tokens }),
    counted: tokens(PROMPT, countTokens(TEXT)),
  },
  stream: {
    head: RESPONSE_HEAD,
    words: RESPONSE_WORDS,
    tail: [...responseTail(), DONE],
    foreign: event({ delta: { content: "The" } }),
    cutCost: tokens(PROMPT, CUT),
  },
};

/** POST /v1/chat/completions, as far as it is not in a table of its own. */
export const chats: FaultRow = { ...responses, body: { messages: MESSAGES, max_tokens: 50 } };

/** POST /v1/completions. */
export const completions: FaultRow = {
  offer: (n) => ({ supported_formats: ["completions"], pricing: tokenPrices(n) }),
  body: { prompt: INPUT, max_tokens: 50 },
  answer: completed(),
  cost: WHOLE,
  invalid: {
    "no choices": completed({ choices: [] }),
    "a choice without a text": completed({ choices: [{ index: 0, finish_reason: "stop" }] }),
    "the choices of a chat": jsonAnswer(completion()),
  },
  maxMib: 16,
  usage: {
    report: (usage) => completed({ usage }),
    of: REPORTED_CHAT,
    counted: tokens(countTokens(INPUT), countTokens(TEXT)),
  },
  stream: {
    head: [],
    words: WORDS.map((word) => completionWord(word)),
    tail: [completionWord("", "stop"), completionEvent([], { usage: USAGE }), DONE],
    foreign: event({ delta: { content: "The" } }),
    cutCost: tokens(countTokens(INPUT), CUT),
  },
};

const MESSAGE_USAGE = { input_tokens: USAGE.prompt_tokens, output_tokens: USAGE.completion_tokens };
const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "theirs" };
const message = (fields: object = {}) =>
  jsonAnswer({
    ...MESSAGE,
    content: [{ type: "text", text: TEXT }],
    stop_reason: "end_turn",
    usage: MESSAGE_USAGE,
    ...fields,
  });
const messageEvent = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** POST /v1/messages. */
export const messages: FaultRow = {
  offer: (n) => ({ supported_formats: ["openai", "anthropic"], pricing: tokenPrices(n) }),
  body: { messages: MESSAGES, max_tokens: 50 },
  answer: message(),
  cost: WHOLE,
  invalid: {
    "content that is no list": message({ content: "four" }),
    "an error in Anthropic's format": jsonAnswer({ type: "error", error: { type: "overloaded_error" } }),
    "the choices of a chat": jsonAnswer(completion()),
  },
  maxMib: 16,
  usage: {
    report: (usage) => message({ usage }),
    of: (input_tokens, output_tokens) => ({ input_tokens, output_tokens }),
    counted: tokens(PROMPT, countTokens(TEXT)),
  },
  stream: {
    head: [
      messageEvent("message_start", {
        message: { ...MESSAGE, content: [], usage: { ...MESSAGE_USAGE, output_tokens: 1 } },
      }),
      messageEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ],
    words: WORDS.map((text) =>
      messageEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    ),
    tail: [
      messageEvent("content_block_stop", { index: 0 }),
      messageEvent("message_delta", {
        delta: { stop_reason: "end_turn" },
        usage: { output_tokens: MESSAGE_USAGE.output_tokens },
      }),
      messageEvent("message_stop", {}),
    ],
    foreign: event({ delta: { content: "The" } }),
    // The provider reported the prompt's tokens at the start.
    cutCost: tokens(USAGE.prompt_tokens, CUT),
  },
};
