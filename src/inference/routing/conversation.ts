import { hash } from "node:crypto";
import { Elided } from "../body/elided-text.ts";
import type { RoutingPreferences } from "./routing-preferences.ts";

/** The fields of a request in which its prompt begins: those of a chat, a message or a text completion. */
export type PromptStart = {
  readonly system?: unknown;
  readonly messages?: unknown;
  readonly prompt?: unknown;
};

/** What a request says about the conversation that it belongs to. */
export type ConversationRequest = {
  readonly account: string;
  readonly preferences: Pick<RoutingPreferences, "sessionId" | "cacheKey">;
  /** Estimated tokens of the prompt. */
  readonly inputTokens?: number | undefined;
  readonly promptStart?: PromptStart | undefined;
};

/** Caches of providers begin at 1,024 tokens, those of local servers at a few blocks: no shorter prompt is hashed. */
const MIN_TOKENS = 256;
/** Characters of a message that are hashed: as many as the shortest prompt that most providers cache. */
const MAX_MESSAGE = 4_096;
/** Characters of a text prompt that are hashed: the shortest prompt has them, so a growing one keeps its hash. */
const MAX_PROMPT = 1_024;
/** The system prompt comes first, if there is one. */
const MAX_LOOKED_AT = 8;

/**
 * Identifies the conversation of a request, so that its requests can go to the provider that has their prefix cached:
 * by its session id, else by its cache key, else by its first messages, as OpenRouter does: later turns repeat these.
 * The same in every process. It is a SHA-256 that includes the account, and contains no text. Undefined for a short
 * prompt without an id.
 */
export function conversationOf(request: ConversationRequest): string | undefined {
  const { account, preferences, inputTokens = 0, promptStart } = request;
  const { sessionId, cacheKey } = preferences;
  const digest = (kind: string, text: string) => hash("sha256", `${account}\n${kind}\n${text}`, "base64url");
  if (sessionId !== undefined) return digest("session", sessionId);
  if (cacheKey !== undefined) return digest("cache-key", cacheKey);
  if (promptStart === undefined || inputTokens < MIN_TOKENS) return undefined;
  return digest("start", startOf(promptStart));
}

/** The first characters of the prompt: of its system prompt and its first other message, or of its text. */
function startOf({ system, messages, prompt }: PromptStart): string {
  if (!Array.isArray(messages)) return textOf(prompt, MAX_PROMPT);
  const list: readonly unknown[] = messages.slice(0, MAX_LOOKED_AT);
  const first = list.find((message) => !isSystem(message));
  return [system, list.find(isSystem), first]
    .map((part) => textOf(part, MAX_MESSAGE))
    .map((text) => `${text.length} ${text}`)
    .join("\n");
}

function isSystem(message: unknown): boolean {
  const { role } = Object(message) as { readonly role?: unknown };
  return role === "system" || role === "developer";
}

/**
 * The first characters of a value: of its texts, in order, each after the name of its member. Cache breakpoints are left
 * out: clients move them from turn to turn.
 */
function textOf(value: unknown, room: number): string {
  if (room <= 0 || value === undefined) return "";
  if (typeof value === "string") return value.slice(0, room);
  if (value instanceof Elided) return value.head.toString("latin1", 0, room);
  if (typeof value !== "object" || value === null) return String(value);
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) {
      if (text.length >= room) break;
      text += `\n${textOf(item, room - text.length)}`;
    }
    return text;
  }
  for (const name in value) {
    if (text.length >= room) break;
    if (name === "cache_control") continue;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    text += `\n${name.slice(0, room)}:${textOf(member, room - text.length)}`;
  }
  return text;
}
