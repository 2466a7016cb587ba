import { z } from "zod";
import { withAtMost } from "../../kernel/text/characters.ts";
import { isText } from "../body/elided-text.ts";
import { METADATA } from "../body/metadata.ts";
import { contentText, readText, shortText } from "../body/text-schema.ts";
import {
  FALLBACK_MODELS,
  NAMES_MODEL,
  NO_MODEL,
  namesModel,
  PROVIDER_OBJECT,
  SESSION_ID,
} from "../routing/routing-fields.ts";

const MAX_ITEMS = 10_000;
const MAX_TOKENS = 2 ** 31 - 1;
const MAX_LOGPROBS = 20;
/** The value of `include` that requests the provider's encrypted reasoning. */
export const ENCRYPTED = "reasoning.encrypted_content";
/** The value of `include` that requests log probabilities. */
export const LOGPROBS = "message.output_text.logprobs";

/**
 * What OpenAI's API may include in a response. The outputs of tools that it runs by itself, and the URLs of images,
 * are never in a response here, since it has no such items; there as well, these values then change nothing.
 */
export const INCLUDABLE: ReadonlySet<unknown> = new Set([
  LOGPROBS,
  ENCRYPTED,
  "message.input_image.image_url",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
]);

const NOT_STORED = "responses are not stored here";
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

const word = withAtMost(readText, 64);
const identifier = withAtMost(readText, 1_024).nullish();
const setting = z.number().nullish();

/** The fields that a chat has as well. */
export const PASSED_ON = {
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

/** The fields of a request for a response, as they were read. */
export type ResponsesFields = z.output<typeof RESPONSES_REQUEST>;

function isInput(input: unknown): boolean {
  if (isText(input)) return input !== "";
  return Array.isArray(input) && input.length > 0 && input.length <= MAX_ITEMS;
}
