import { z } from "zod";
import { boundPrompt, type PromptBound } from "../billing/prompt-bound.ts";
import { type ElidedTexts, isText } from "../body/elided-text.ts";
import { refuseHosted } from "../body/hosted-tools.ts";
import {
  candidateModel,
  forwardedBody,
  type RequestFields,
  readPromptFields,
} from "../body/request-fields.ts";
import { contentText, readText, shortText } from "../body/text-schema.ts";
import type { GuardedRequest } from "../guardrails/guarded-request.ts";
import type { Provider } from "../providers/provider.ts";
import { hasText, quickList } from "../routing/quick-list.ts";
import {
  FALLBACK_MODELS,
  modelsOf,
  NAMES_MODEL,
  NO_MODEL,
  namesModel,
  PROVIDER_OBJECT,
  SESSION_ID,
} from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import { type Compaction, compactionOf } from "./compaction.ts";

const MAX_TOKENS = 2 ** 31 - 1;
const MAX_BLOCKS = 10_000;
const ROLES = ["user", "assistant", "system"] as const;
const block = z.looseObject({ type: readText });
const content = z.union(
  [contentText, quickList(block, (value) => hasText(value, "type"), { max: MAX_BLOCKS })],
  "must be a string or a list of content blocks",
);
const message = z.looseObject({ role: z.enum(ROLES), content });
const prompt = {
  model: shortText(256).optional(),
  models: FALLBACK_MODELS,
  messages: quickList(message, isMessage, { min: 1, max: 100_000 }),
  system: content.nullish(),
  tools: quickList(z.looseObject({}), isObject, { max: 10_000 }).nullish(),
  provider: PROVIDER_OBJECT,
  verify_tee: z.boolean().nullish(),
  session_id: SESSION_ID,
};

/** The fields of Anthropic's Messages that the router reads; the provider validates all others. */
export const MESSAGES_REQUEST = z
  .looseObject({
    ...prompt,
    max_tokens: z.int().min(1).max(MAX_TOKENS),
    stream: z.boolean().nullish(),
  })
  .refine(namesModel, NO_MODEL)
  .meta({ id: "MessagesRequest", ...NAMES_MODEL });

/** The request of the token-count endpoint: the same fields without those of the answer. */
export const TOKEN_COUNT_REQUEST = z
  .looseObject(prompt)
  .refine(namesModel, NO_MODEL)
  .meta({ id: "TokenCountRequest", ...NAMES_MODEL });

/** A prompt in Anthropic's format. */
export type MessagesPrompt = RequestFields & {
  readonly model: string;
  /** The bound on its tokens. */
  readonly prompt: PromptBound;
  readonly preferences: RoutingPreferences;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee: boolean;
};

/** A request in Anthropic's format, reduced to what the router reads. */
export type MessagesRequest = MessagesPrompt & {
  readonly maxTokens: number;
  readonly compaction: Compaction;
  readonly stream: boolean;
  /** Whether the client sent no limit, and `maxTokens` is a default. */
  readonly isLimitDefault?: boolean;
  /** The client's own body, where `bytes` and `fields` are not that. */
  readonly client?: Pick<GuardedRequest, "sizeBytes" | "fields"> | undefined;
};

/** Reads a request for a message. Throws `invalid_body` naming the invalid field. */
export async function readMessagesRequest(bytes: Buffer): Promise<MessagesRequest> {
  const { fields, elided } = await readPromptFields(MESSAGES_REQUEST, bytes);
  return {
    ...toPrompt(bytes, fields, elided),
    maxTokens: fields.max_tokens,
    compaction: compactionOf(fields),
    stream: fields.stream ?? false,
  };
}

/** Reads a token-count request. Throws `invalid_body` naming the invalid field. */
export async function readTokenCountRequest(bytes: Buffer): Promise<MessagesPrompt> {
  const { fields, elided } = await readPromptFields(TOKEN_COUNT_REQUEST, bytes);
  return toPrompt(bytes, fields, elided);
}

/** The body to send to this provider. */
export function messagesBody(prompt: RequestFields, provider: Provider): Buffer {
  return forwardedBody(prompt, candidateModel(prompt, provider));
}

function toPrompt(
  bytes: Buffer,
  fields: z.output<typeof TOKEN_COUNT_REQUEST>,
  elided: ElidedTexts | undefined,
): MessagesPrompt {
  refuseHosted(fields);
  return {
    ...modelsOf({ ...fields, user: userOf(fields.metadata) }),
    prompt: boundPrompt(fields, bytes),
    verifyTee: fields.verify_tee ?? false,
    bytes,
    fields,
    elided,
  };
}

/** Anthropic's field for the user, in which its clients also name the session. */
function userOf(metadata: unknown): unknown {
  return isObject(metadata) ? metadata.user_id : undefined;
}

function isMessage(value: unknown): boolean {
  if (!isObject(value) || !ROLES.some((role) => role === value.role)) return false;
  const { content } = value;
  if (isText(content)) return true;
  return (
    Array.isArray(content) && content.length <= MAX_BLOCKS && content.every((item) => hasText(item, "type"))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
