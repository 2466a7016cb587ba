import { setImmediate as nextTurn } from "node:timers/promises";
import { concatInTurns } from "../../kernel/async/concat-in-turns.ts";
import { boundPrompt } from "../billing/prompt-bound.ts";
import { type ElidedTexts, serialized } from "../body/elided-text.ts";
import { withExactIntegers } from "../body/exact-integers.ts";
import { invalidField } from "../body/invalid-field.ts";
import { tagsOf } from "../body/metadata.ts";
import { refuseFields } from "../body/refused-fields.ts";
import { readPromptFields } from "../body/request-fields.ts";
import type { ChatRequest } from "../chat/chat-request.ts";
import { modelsOf } from "../routing/routing-fields.ts";
import { chatTools } from "./chat-tools.ts";
import { ChatNames, type FunctionNames } from "./function-names.ts";
import { chatMessages } from "./input-items.ts";
import type { NativeRequest } from "./native/native-form.ts";
import { repeatedFields } from "./repeated-fields.ts";
import { readTools, type Tool } from "./response-tools.ts";
import {
  ENCRYPTED,
  INCLUDABLE,
  LOGPROBS,
  PASSED_ON,
  RESPONSES_REQUEST,
  type ResponsesFields,
} from "./responses-schema.ts";
import { Unsupported } from "./unsupported.ts";

/** Parsing a longer body takes milliseconds, so each step of its translation is another turn of the event loop. */
const MAX_TURN_BYTES = 131_072;
/** A provider repeats them in its first two events, which are held back together, up to 1 MiB. */
const MAX_STREAMED_BYTES = 393_216;

const NOT_KEPT = "no provider of this model keeps responses";

/** Fields of chat completions that have another name here; passed on, they would contradict it. */
const MISPLACED = {
  messages: "send input",
  max_tokens: "send max_output_tokens",
  max_completion_tokens: "send max_output_tokens",
  response_format: "send text.format",
  reasoning_effort: "send reasoning.effort",
  logprobs: `send include with ${LOGPROBS}`,
  functions: "send tools",
  function_call: "send tool_choice",
  n: "a response has one answer",
  modalities: "a response is text",
  audio: "a response is text",
} as const;

/** Fields of responses that no chat has, and without which the answer is another form of the same. */
const LEFT_OUT = [
  "access_programs",
  "client_metadata",
  "context_management",
  "generate",
  "image",
  "multi_agent",
];

/** Fields that a chat has under another name or not at all. All others are passed on. */
const TRANSLATED: ReadonlySet<string> = new Set([
  ...Object.keys(RESPONSES_REQUEST.shape).filter((name) => !Object.hasOwn(PASSED_ON, name)),
  ...LEFT_OUT,
]);

/** A request for a response: the chat that answers it, and what the response repeats of the request. */
export type ResponsesRequest = {
  readonly chat: ChatRequest;
  /** The same for providers that have its format. */
  readonly native: NativeRequest;
  /** Whether reasoning is shown as a summary, which the client requested, or as it is. */
  readonly hasSummary: boolean;
  /** The functions whose names in the chat are not the client's. */
  readonly functions: FunctionNames;
  /** The members of the response that repeat the request, as a JSON object. */
  readonly repeated: string;
};

/** Reads a request for a response. Throws `invalid_body` naming the invalid field. */
export async function readResponsesRequest(bytes: Buffer): Promise<ResponsesRequest> {
  const { fields, elided } = await readPromptFields(RESPONSES_REQUEST, bytes);
  for (const [name, instead] of Object.entries(MISPLACED))
    if (fields[name] != null) throw invalidField(name, `not a field of responses: ${instead}`);
  refuseFields(fields);
  const unknown = (fields.include ?? []).findIndex((value) => !INCLUDABLE.has(value));
  if (unknown >= 0) throw invalidField(`include.${unknown}`, `must be one of ${[...INCLUDABLE].join(", ")}`);
  const pause = () => (bytes.length > MAX_TURN_BYTES ? nextTurn() : undefined);
  await pause();
  const unsupported = new Unsupported();
  const given = readTools(fields.tools ?? [], unsupported);
  if (fields.truncation === "auto")
    unsupported.add("truncation", "must be disabled: the router cannot shorten a prompt");
  const { store, previous_response_id: previousId, generate, multi_agent: agents } = fields;
  if (generate === false) unsupported.add("generate", "a chat always generates an answer");
  if (agents != null) unsupported.add("multi_agent", "agents of the provider are not supported in a chat");
  if (store) unsupported.add("store", `${NOT_KEPT}: omit it or send false`);
  if (previousId != null)
    unsupported.add("previous_response_id", `${NOT_KEPT}: send the whole conversation as input`);
  // What is checked has numbers; what is written has all of their digits.
  const exact = withExactIntegers(fields, exactNames(fields), { bytes, elided });
  const tools = exact === fields ? given : readTools(exact.tools ?? [], new Unsupported());
  const names = new ChatNames(tools);
  await pause();
  const chat = await toChat(exact, tools, { elided, sizeBytes: bytes.length, names, unsupported, pause });
  await pause();
  const { reason: untranslatable, hiddenLength, hasEncrypted } = unsupported;
  const encrypted = hasEncrypted ? "in_prompt" : expectsEncrypted(fields) ? "in_answer" : undefined;
  const { repeated, lengthBytes } = repeatedFields(exact, tools, elided);
  return {
    chat,
    native: {
      ...{ bytes, fields, elided, untranslatable, hiddenLength, encrypted },
      isKept: store ?? false,
      previousId: previousId ?? undefined,
      isTooLong: chat.stream && lengthBytes > MAX_STREAMED_BYTES,
    },
    hasSummary: fields.reasoning?.summary != null,
    functions: names.functions,
    repeated,
  };
}

/** The members that a chat has as they are, and whose numbers the router does not read: schemas, and what is passed on. */
function exactNames(fields: ResponsesFields): readonly string[] {
  const passed = Object.keys(fields).filter((name) => !Object.hasOwn(RESPONSES_REQUEST.shape, name));
  return ["tools", "text", ...passed];
}

/** Whether a provider may answer with text that only it can read: of its reasoning, or of a conversation so far. */
function expectsEncrypted({ include, context_management: management }: ResponsesFields): boolean {
  return management != null || (include?.includes(ENCRYPTED) ?? false);
}

async function toChat(
  request: ResponsesFields,
  tools: readonly Tool[],
  given: {
    readonly elided: ElidedTexts | undefined;
    readonly sizeBytes: number;
    readonly names: ChatNames;
    readonly unsupported: Unsupported;
    /** Lets other work run between two steps, if the body is long. */
    readonly pause: () => Promise<void> | undefined;
  },
): Promise<ChatRequest> {
  const { elided, sizeBytes, names, unsupported, pause } = given;
  const { stream, input, instructions, tool_choice: choice, parallel_tool_calls: isParallel } = request;
  const { max_output_tokens: maxTokens, verify_tee: verifyTee, reasoning, text, include } = request;
  const passed = Object.entries(request).filter(([name, value]) => !TRANSLATED.has(name) && value != null);
  const chosen = modelsOf(request);
  const offered = chatTools(tools, choice, names);
  await pause();
  const fields = {
    ...{ model: chosen.model, ...Object.fromEntries(passed) },
    messages: chatMessages(input, instructions, { names, unsupported }),
    ...offered,
    ...(offered.tools !== undefined && isParallel != null && { parallel_tool_calls: isParallel }),
    ...(maxTokens != null && { max_tokens: maxTokens }),
    ...(reasoning?.effort != null && { reasoning_effort: reasoning.effort }),
    ...(text?.verbosity != null && { verbosity: text.verbosity }),
    ...responseFormat(text?.format),
    ...(include?.includes(LOGPROBS) && { logprobs: true, top_logprobs: request.top_logprobs ?? 0 }),
  };
  await pause();
  const bytes = await concatInTurns(serialized(fields, elided));
  return {
    ...chosen,
    stream: stream ?? false,
    wantsUsage: false,
    maxTokens: maxTokens ?? undefined,
    choices: 1,
    verifyTee: verifyTee ?? false,
    tags: tagsOf(request.metadata),
    prompt: boundPrompt(fields, { length: Math.max(bytes.length, sizeBytes) }),
    client: { sizeBytes, fields: request, translated: fields },
    ...{ bytes, fields, elided },
  };
}

/** The format of a chat's answer. Throws `invalid_body`. */
function responseFormat(format: NonNullable<ResponsesFields["text"]>["format"]) {
  if (!format || format.type === "text") return {};
  const { type, ...schema } = format;
  return { response_format: type === "json_schema" ? { type, json_schema: schema } : { type } };
}
