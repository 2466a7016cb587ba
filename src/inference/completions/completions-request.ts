import { z } from "zod";
import { boundPrompt } from "../billing/prompt-bound.ts";
import { isText } from "../body/elided-text.ts";
import { invalidField } from "../body/invalid-field.ts";
import { refuseFields } from "../body/refused-fields.ts";
import { forwardedBody, readPromptFields } from "../body/request-fields.ts";
import { contentText, shortText } from "../body/text-schema.ts";
import { inputsOf, isTokenList } from "../body/token-lists.ts";
import { type ChatRequest, USAGE_OPTION } from "../chat/chat-request.ts";
import {
  CACHE_KEYS,
  FALLBACK_MODELS,
  modelsOf,
  NAMES_MODEL,
  NO_MODEL,
  namesModel,
  PROVIDER_OBJECT,
  SESSION_ID,
} from "../routing/routing-fields.ts";

/** Answers of one request, to all of its prompts. */
const MAX_ANSWERS = 128;
/** OpenAI's default, and that of most servers; others would have no limit. */
const DEFAULT_TOKENS = 16;
const MAX_LOGPROBS = 20;

const token = { type: "integer", minimum: 0 } as const;
const listOf = (items: object) => ({ type: "array", items, minItems: 1, maxItems: MAX_ANSWERS }) as const;
const PROMPT = z
  .unknown()
  .refine(isPrompt, `must be a text, a list of tokens, or a list of at most ${MAX_ANSWERS} of these`)
  .meta({
    anyOf: [
      { type: "string" },
      listOf({ type: "string" }),
      { type: "array", items: token, minItems: 1 },
      listOf({ type: "array", items: token, minItems: 1 }),
    ],
  });

/** The fields that the router reads; the provider validates all others. OpenAPI publishes this schema. */
export const COMPLETIONS_REQUEST = z
  .looseObject({
    model: shortText(256).optional(),
    models: FALLBACK_MODELS,
    prompt: PROMPT,
    suffix: contentText.nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    usage: USAGE_OPTION,
    max_tokens: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .nullish(),
    n: z.int().min(1).max(MAX_ANSWERS).nullish(),
    best_of: z.int().min(1).max(MAX_ANSWERS).nullish(),
    echo: z.boolean().nullish(),
    logprobs: z.int().min(0).max(MAX_LOGPROBS).nullish(),
    verify_tee: z.boolean().nullish(),
    session_id: SESSION_ID,
    ...CACHE_KEYS,
    provider: PROVIDER_OBJECT,
  })
  .refine(namesModel, NO_MODEL)
  .meta({ id: "CompletionsRequest", ...NAMES_MODEL });

/** Reads a request for text completions. Throws `invalid_body` naming the invalid field. */
export async function readCompletionsRequest(bytes: Buffer): Promise<ChatRequest> {
  const { fields, elided } = await readPromptFields(COMPLETIONS_REQUEST, bytes, "prompt");
  refuseFields(fields);
  const { prompt, stream, stream_options: options, n, best_of: bestOf, verify_tee: verifyTee } = fields;
  const prompts = inputsOf(prompt);
  const choices = prompts * (n ?? 1);
  if (choices > MAX_ANSWERS)
    throw invalidField("n", `at most ${MAX_ANSWERS} answers are allowed for all prompts together`);
  if (bestOf != null && bestOf > (n ?? 1)) throw invalidField("best_of", "must not be more than n");
  const maxTokens = fields.max_tokens ?? DEFAULT_TOKENS;
  const limited = { bytes, fields, elided };
  const isLimited = fields.max_tokens != null;
  return {
    ...limited,
    ...(!isLimited && {
      bytes: forwardedBody(limited, { max_tokens: maxTokens }),
      fields: { ...fields, max_tokens: maxTokens },
      client: { sizeBytes: bytes.length, fields },
      isLimitDefault: true,
    }),
    ...modelsOf(fields),
    stream: stream ?? false,
    wantsUsage: options?.include_usage ?? fields.usage?.include ?? false,
    maxTokens,
    prompts,
    choices,
    verifyTee: verifyTee ?? false,
    prompt: boundPrompt({ messages: [] }, bytes),
  };
}

function isPrompt(prompt: unknown): boolean {
  if (isText(prompt) || isTokenList(prompt)) return true;
  if (!Array.isArray(prompt)) return false;
  if (prompt.length === 0 || prompt.length > MAX_ANSWERS) return false;
  return prompt.every(isText) || prompt.every(isTokenList);
}
