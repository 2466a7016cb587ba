import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { concatInTurns } from "../../kernel/async/concat-in-turns.ts";
import { boundPrompt } from "../billing/prompt-bound.ts";
import { type ElidedTexts, isText } from "../body/elided-text.ts";
import { refuseHostedFields } from "../body/hosted-tools.ts";
import { invalidField } from "../body/invalid-field.ts";
import { METADATA, tagsOf } from "../body/metadata.ts";
import { readPromptFields } from "../body/request-fields.ts";
import { contentText, readText, shortText } from "../body/text-schema.ts";
import type { ChatRequest } from "../chat/chat-request.ts";
import {
  FALLBACK_MODELS,
  modelsOf,
  NAMES_MODEL,
  NO_MODEL,
  namesModel,
  PROVIDER_OBJECT,
  SESSION_ID,
} from "../routing/routing-fields.ts";
import { chatMessages } from "./input-items.ts";
import type { NativeRequest } from "./native/native-form.ts";
import { chatTools, readTools, type Tool } from "./response-tools.ts";
import { Unsupported } from "./unsupported.ts";

const MAX_ITEMS = 10_000;
const MAX_TOKENS = 2 ** 31 - 1;
const MAX_LOGPROBS = 20;
/** Parsing a longer body takes milliseconds, so it is translated in another turn of the event loop. */
const MAX_TURN_BYTES = 262_144;
/** A response repeats the request's instructions and tools up to this length: a stream does so three times. */
const MAX_REPEATED_BYTES = 262_144;
/** A provider repeats them in its first two events, which are held back together, up to 1 MiB. */
const MAX_STREAMED_BYTES = 393_216;
const LOGPROBS = "message.output_text.logprobs";

/**
 * What OpenAI's API may include in a response. The outputs of tools that it runs by itself, and the URLs of images,
 * are never in a response here, since it has no such items; there as well, these values then change nothing.
 */
const INCLUDABLE: ReadonlySet<unknown> = new Set([
  LOGPROBS,
  "reasoning.encrypted_content",
  "message.input_image.image_url",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
]);

const NOT_STORED = "responses are not stored here";
const NOT_KEPT = "no provider of this model keeps responses";
const onlyNull = (error: string) => z.null({ error }).optional();
const onlyFalse = (error: string) => z.literal(false, { error }).nullish();

const INPUT = z
  .unknown()
  .refine(isInput, `must be a text or a list of 1 to ${MAX_ITEMS} items`)
  .meta({
    anyOf: [
      { type: "string", minLength: 1 },
      { type: "array", minItems: 1, maxItems: MAX_ITEMS, items: { type: "object" } },
    ],
  });

const word = readText.max(64);
const identifier = readText.max(1_024).nullish();
const setting = z.number().nullish();

/** The fields that a chat has as well. */
const PASSED_ON = {
  stream: z.boolean().nullish(),
  temperature: setting,
  top_p: setting,
  presence_penalty: setting,
  frequency_penalty: setting,
  user: identifier,
  safety_identifier: identifier,
  prompt_cache_key: identifier,
};

/** The fields that the router reads; the provider validates all others. OpenAPI publishes this schema. */
export const RESPONSES_REQUEST = z
  .looseObject({
    model: shortText(256).optional(),
    models: FALLBACK_MODELS,
    input: INPUT,
    instructions: contentText.nullish(),
    stream_options: z.looseObject({}).nullish(),
    max_output_tokens: z.int().min(1).max(MAX_TOKENS).nullish(),
    max_tool_calls: z.int().min(1).max(MAX_TOKENS).nullish(),
    tools: z
      .array(z.unknown().meta({ type: "object" }))
      .max(MAX_ITEMS)
      .nullish(),
    tool_choice: z.unknown().optional(),
    parallel_tool_calls: z.boolean().nullish(),
    text: z
      .looseObject({
        format: z
          .looseObject({
            type: z.enum(["text", "json_object", "json_schema"]),
            name: shortText(64).optional(),
          })
          .refine(({ type, name }) => type !== "json_schema" || name !== undefined, {
            path: ["name"],
            message: "required with json_schema",
          })
          .nullish(),
        verbosity: word.nullish(),
      })
      .nullish(),
    reasoning: z.looseObject({ effort: word.nullish(), summary: word.nullish() }).nullish(),
    include: z.array(readText).max(100).nullish(),
    top_logprobs: z.int().min(0).max(MAX_LOGPROBS).nullish(),
    ...PASSED_ON,
    truncation: z.enum(["disabled", "auto"]).nullish(),
    metadata: METADATA,
    store: z.boolean().nullish(),
    background: onlyFalse(`${NOT_STORED}, so they cannot run in the background`),
    previous_response_id: shortText(256).nullish(),
    conversation: onlyNull("conversations are not stored here: send the whole conversation as input"),
    prompt: onlyNull("prompts are not stored here: send instructions and input"),
    verify_tee: z.boolean().nullish(),
    session_id: SESSION_ID,
    provider: PROVIDER_OBJECT,
  })
  .refine(namesModel, NO_MODEL)
  .meta({ id: "ResponsesRequest", ...NAMES_MODEL });

type Request = z.output<typeof RESPONSES_REQUEST>;

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

/** Fields that a chat has under another name or not at all. All others are passed on. */
const TRANSLATED: ReadonlySet<string> = new Set(
  Object.keys(RESPONSES_REQUEST.shape).filter((name) => !Object.hasOwn(PASSED_ON, name)),
);

/** A request for a response: the chat that answers it, and what the response repeats of the request. */
export type ResponsesRequest = {
  readonly chat: ChatRequest;
  /** The same for providers that have its format. */
  readonly native: NativeRequest;
  /** Whether reasoning is shown as a summary, which the client requested, or as it is. */
  readonly hasSummary: boolean;
  /** The members of the response that repeat the request, as a JSON object. */
  readonly repeated: string;
};

/** Reads a request for a response. Throws `invalid_body` naming the invalid field. */
export async function readResponsesRequest(bytes: Buffer): Promise<ResponsesRequest> {
  const { fields, elided } = await readPromptFields(RESPONSES_REQUEST, bytes);
  for (const [name, instead] of Object.entries(MISPLACED))
    if (fields[name] != null) throw invalidField(name, `not a field of responses: ${instead}`);
  refuseHostedFields(fields);
  const unknown = (fields.include ?? []).findIndex((value) => !INCLUDABLE.has(value));
  if (unknown >= 0) throw invalidField(`include[${unknown}]`, `must be one of ${[...INCLUDABLE].join(", ")}`);
  if (bytes.length > MAX_TURN_BYTES) await nextTurn();
  const unsupported = new Unsupported();
  const tools = readTools(fields.tools ?? [], unsupported);
  if (fields.truncation === "auto")
    unsupported.add(invalidField("truncation", "must be disabled: the router cannot shorten a prompt"));
  const { store, previous_response_id: previousId } = fields;
  if (store) unsupported.add(invalidField("store", `${NOT_KEPT}: omit it or send false`));
  if (previousId != null)
    unsupported.add(
      invalidField("previous_response_id", `${NOT_KEPT}: send the whole conversation as input`),
    );
  const chat = await toChat(fields, tools, { elided, sizeBytes: bytes.length, unsupported });
  const { reason: untranslatable, hiddenLength } = unsupported;
  const { repeated, lengthBytes } = repeatedFields(fields, tools, elided);
  return {
    chat,
    native: {
      ...{ bytes, fields, elided, untranslatable, hiddenLength },
      isKept: store ?? false,
      previousId: previousId ?? undefined,
      isTooLong: chat.stream && lengthBytes > MAX_STREAMED_BYTES,
    },
    hasSummary: fields.reasoning?.summary != null,
    repeated,
  };
}

async function toChat(
  request: Request,
  tools: readonly Tool[],
  given: {
    readonly elided: ElidedTexts | undefined;
    readonly sizeBytes: number;
    readonly unsupported: Unsupported;
  },
): Promise<ChatRequest> {
  const { elided, sizeBytes, unsupported } = given;
  const { stream, input, instructions, tool_choice: choice, parallel_tool_calls: isParallel } = request;
  const { max_output_tokens: maxTokens, verify_tee: verifyTee, reasoning, text, include } = request;
  const passed = Object.entries(request).filter(([name, value]) => !TRANSLATED.has(name) && value != null);
  const chosen = modelsOf(request);
  const fields = {
    ...{ model: chosen.model, ...Object.fromEntries(passed) },
    messages: chatMessages(input, instructions, unsupported),
    ...chatTools(tools, choice),
    ...(tools.length > 0 && isParallel != null && { parallel_tool_calls: isParallel }),
    ...(maxTokens != null && { max_tokens: maxTokens }),
    ...(reasoning?.effort != null && { reasoning_effort: reasoning.effort }),
    ...(text?.verbosity != null && { verbosity: text.verbosity }),
    ...responseFormat(text?.format),
    ...(include?.includes(LOGPROBS) && { logprobs: true, top_logprobs: request.top_logprobs ?? 0 }),
  };
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
function responseFormat(format: NonNullable<Request["text"]>["format"]) {
  if (!format || format.type === "text") return {};
  const { type, ...schema } = format;
  return { response_format: type === "json_schema" ? { type, json_schema: schema } : { type } };
}

/** What the types of OpenAI's clients require of a response besides its answer, and its length if it is not shortened. */
function repeatedFields(
  request: Request,
  tools: readonly Tool[],
  elided: ElidedTexts | undefined,
): { readonly repeated: string; readonly lengthBytes: number } {
  const { instructions = null, reasoning, text, metadata, temperature, top_p, top_logprobs } = request;
  const settings = {
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    store: false,
    background: false,
    temperature: temperature ?? 1,
    text: { ...text, format: text?.format ?? { type: "text" } },
    tool_choice: request.tool_choice ?? "auto",
    top_logprobs: top_logprobs ?? 0,
    top_p: top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    truncation: "disabled",
    service_tier: "default",
    user: request.user ?? null,
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
  };
  const whole = serialized({ instructions, tools, ...settings }, elided);
  const lengthBytes = lengthOf(whole);
  if (lengthBytes <= MAX_REPEATED_BYTES) return { repeated: Buffer.concat(whole).toString(), lengthBytes };
  const { text: _, tool_choice: __, ...short } = settings;
  const repeated = JSON.stringify({
    ...{ instructions: null, tools: [], tool_choice: "auto", text: { format: { type: "text" } } },
    ...short,
  });
  return { repeated, lengthBytes };
}

/** The pieces of a value as JSON. */
function serialized(value: object, elided: ElidedTexts | undefined): readonly Buffer[] {
  const json = JSON.stringify(value);
  return elided ? elided.restoredPieces(json) : [Buffer.from(json)];
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function isInput(input: unknown): boolean {
  if (isText(input)) return input !== "";
  return Array.isArray(input) && input.length > 0 && input.length <= MAX_ITEMS;
}
