import type { Fields } from "../body/fields.ts";
import { readContent } from "../chat/content-text.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";

/** A call of a function, whole or a part: `arguments` continue those of the same `index`. */
export type CallPart = {
  readonly index: number;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
};

/** What a choice of a chat says, whole or as a delta; texts are empty if absent. */
export type Said = {
  readonly reasoning: string;
  readonly text: string;
  /** The log probabilities of the text's tokens. */
  readonly logprobs: readonly unknown[];
  readonly refusal: string;
  readonly calls: readonly CallPart[];
};

/** Content of a chat that a response has no place for. */
const UNTRANSLATED = ["audio", "images", "function_call"];

/**
 * Reads the message or delta of a choice. Members that are invalid count as absent. Throws a `ProviderFailure` for content
 * that the client would pay for and not receive.
 */
export function saidBy(choice: unknown): Said {
  const { delta, message, logprobs } = fieldsOf(choice);
  const part = fieldsOf(delta ?? message);
  const { reasoning_content, reasoning, refusal, tool_calls: calls } = part;
  const { content: tokens } = fieldsOf(logprobs);
  const content = readContent(part.content);
  if (!content || UNTRANSLATED.some((name) => Object.keys(fieldsOf(part[name])).length > 0))
    throw new ProviderFailure("malformed", {
      message: "The provider's answer has content that a response cannot have.",
    });
  return {
    reasoning: (textOf(reasoning_content) || textOf(reasoning)) + content.reasoning,
    text: content.text,
    logprobs: Array.isArray(tokens) ? tokens.map(logprobOf) : [],
    refusal: textOf(refusal),
    calls: Array.isArray(calls) ? calls.map(delta ? deltaCall : callPart) : [],
  };
}

/** A part of a call, in a delta: parts with the same index are of one call. */
function deltaCall(call: unknown, at: number): CallPart {
  const { index } = fieldsOf(call);
  return callPart(call, Number.isSafeInteger(index) ? (index as number) : at);
}

/** A call at this position. The calls of a message are whole, and are identified by position: some have equal indexes. */
function callPart(call: unknown, index: number): CallPart {
  const { id, function: called } = fieldsOf(call);
  const { name, arguments: given } = fieldsOf(called);
  return {
    index,
    id: textOf(id) || undefined,
    name: textOf(name) || undefined,
    arguments: typeof given === "object" && given !== null ? JSON.stringify(given) : textOf(given),
  };
}

/** A token with the members that OpenAI's type requires. */
function logprobOf(token: unknown): Fields {
  const { token: text = "", logprob = 0, bytes, top_logprobs: top } = fieldsOf(token);
  const others = Array.isArray(top) ? top.map(logprobOf).map(({ top_logprobs: _, ...other }) => other) : [];
  return { token: text, logprob, bytes: bytes ?? [], top_logprobs: others };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An object's members; none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
