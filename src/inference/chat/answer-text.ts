import { readContent } from "./content-text.ts";

/** The format of an answer: an OpenAI chat, an Anthropic message or an OpenAI response. */
export type AnswerFormat = "chat" | "message" | "response";

/**
 * The countable text of a whole answer: of every choice of a chat, every block of a message, or every item of a response.
 */
export function answerTexts(answer: unknown, format: AnswerFormat): string {
  const { choices, content, output } =
    typeof answer === "object" && answer !== null ? (answer as Fields) : {};
  if (format === "chat") return Array.isArray(choices) ? choices.map(answerText).join("") : "";
  if (format === "response") return outputTexts(output);
  return Array.isArray(content) ? content.map(blockText).join("") : "";
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The text of the items of a response: of messages and reasoning, or what a tool is called with. A summary is not counted
 * beside the reasoning that it sums up.
 */
export function outputTexts(output: unknown): string {
  return Array.isArray(output) ? output.map(itemText).join("") : "";
}

function itemText(item: unknown): string {
  if (typeof item !== "object" || item === null) return "";
  const { content, summary, arguments: given, input } = item as Fields;
  const parts = Array.isArray(content) && content.length > 0 ? content : summary;
  const texts = Array.isArray(parts) ? parts.map(partText) : [];
  return [...texts, given, input].filter((text) => typeof text === "string").join("");
}

function partText(part: unknown): unknown {
  const { text, refusal } = typeof part === "object" && part !== null ? (part as Fields) : {};
  return text ?? refusal;
}

/** The text of a content block or of its delta in a stream: text, thinking, and tool arguments. */
export function blockText(block: unknown): string {
  if (typeof block !== "object" || block === null) return "";
  const { text, thinking, partial_json, input } = block as Fields;
  const texts = [text, thinking, partial_json].filter((part) => typeof part === "string").join("");
  const hasInput = typeof input === "object" && input !== null && Object.keys(input).length > 0;
  return hasInput ? texts + JSON.stringify(input) : texts;
}

/**
 * The text of one choice of a chat or of a text completion, whole or a delta: content, reasoning, refusal, and
 * tool-call arguments.
 */
export function answerText(choice: unknown): string {
  const part = partOf(choice);
  if (!part) return "";
  const { content, reasoning_content, reasoning, refusal, tool_calls } = part;
  const thinking = typeof reasoning_content === "string" ? reasoning_content : reasoning;
  const said = readContent(content);
  const texts = [thinking, said?.reasoning, said?.text, refusal].filter((text) => typeof text === "string");
  return texts.join("") + (Array.isArray(tool_calls) ? JSON.stringify(tool_calls) : "");
}

/** Whether a choice carries content: any non-empty field besides the role. */
export function carriesContent(choice: unknown): boolean {
  const part = partOf(choice);
  if (!part) return false;
  for (const name in part) {
    const value = part[name];
    if (name === "role" || value === null || value === "" || value === undefined) continue;
    if (!Array.isArray(value) || value.length > 0) return true;
  }
  return false;
}

function partOf(choice: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof choice !== "object" || choice === null) return undefined;
  const part = "delta" in choice ? choice.delta : "message" in choice ? choice.message : undefined;
  // Some servers add `text` to a chat as well.
  if (part === undefined && "text" in choice) return { content: choice.text };
  return typeof part === "object" && part !== null ? (part as Record<string, unknown>) : undefined;
}
