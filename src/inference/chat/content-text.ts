import type { Fields } from "../body/fields.ts";

/** What the content of an answer says; a text is empty if absent. */
export type ContentText = { readonly text: string; readonly reasoning: string };

const NO_TEXT: ContentText = { text: "", reasoning: "" };

/**
 * Reads the content of a choice, whole or a delta: a text, or the list of parts that some servers send, of texts and of
 * thinking. Undefined if a part is neither.
 */
export function readContent(content: unknown): ContentText | undefined {
  if (typeof content === "string") return { text: content, reasoning: "" };
  if (content === null || content === undefined) return NO_TEXT;
  if (!Array.isArray(content)) return undefined;
  const parts = content.map(readPart);
  if (!parts.every((part) => part !== undefined)) return undefined;
  return {
    text: parts.map(({ text }) => text).join(""),
    reasoning: parts.map(({ reasoning }) => reasoning).join(""),
  };
}

/**
 * What a message or a delta says where an API has one text for it: its content or, if the model refuses to answer, the
 * refusal. Null without either.
 */
export function shownContent({
  content,
  refusal,
}: {
  readonly content?: unknown;
  readonly refusal?: unknown;
}): { readonly text: string | null; readonly reasoning: string } {
  const { text, reasoning } = (content == null ? undefined : readContent(content)) ?? {
    ...NO_TEXT,
    text: null,
  };
  return { text: text || (typeof refusal === "string" && refusal !== "" ? refusal : text), reasoning };
}

/**
 * The calls of a message or a delta where an API has one list for them; undefined without any. OpenAI's legacy form has a
 * single call, without an id.
 */
export function shownCalls({
  tool_calls: calls,
  function_call: call,
}: {
  readonly tool_calls?: readonly unknown[] | null | undefined;
  readonly function_call?: unknown;
}): readonly unknown[] | undefined {
  if (calls?.length || call == null) return calls ?? undefined;
  return [{ index: 0, type: "function", function: call }];
}

function readPart(part: unknown): ContentText | undefined {
  if (typeof part === "string") return { text: part, reasoning: "" };
  const { type, text, thinking, refusal } = typeof part === "object" && part !== null ? (part as Fields) : {};
  if (typeof text === "string") return { text, reasoning: "" };
  if (typeof refusal === "string") return { text: refusal, reasoning: "" };
  const thought = type === "thinking" ? readContent(thinking) : undefined;
  return thought && { text: "", reasoning: thought.reasoning + thought.text };
}
