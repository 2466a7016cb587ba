/** In whose shape an answer is: OpenAI's chat, or Anthropic's message. */
export type AnswerFormat = "chat" | "message";

/** All that a whole answer says, as it is counted: of each choice of a chat, or of each block of a message. */
export function answerTexts(answer: unknown, format: AnswerFormat): string {
  const { choices, content } = typeof answer === "object" && answer !== null ? (answer as Fields) : {};
  if (format === "chat") return Array.isArray(choices) ? choices.map(answerText).join("") : "";
  return Array.isArray(content) ? content.map(blockText).join("") : "";
}

type Fields = Readonly<Record<string, unknown>>;

/** The text that a block of content, or a part of one in a stream, carries: words, thoughts, arguments of tools. */
export function blockText(block: unknown): string {
  if (typeof block !== "object" || block === null) return "";
  const { text, thinking, partial_json, input } = block as Fields;
  const words = [text, thinking, partial_json].filter((part) => typeof part === "string").join("");
  const hasInput = typeof input === "object" && input !== null && Object.keys(input).length > 0;
  return hasInput ? words + JSON.stringify(input) : words;
}

/** The text that one choice of a chat carries, whole or a delta: content, reasoning, refusal, and arguments of tool calls. */
export function answerText(choice: unknown): string {
  const part = partOf(choice);
  if (!part) return "";
  const { content, reasoning_content, reasoning, refusal, tool_calls } = part;
  const thought = typeof reasoning_content === "string" ? reasoning_content : reasoning;
  const texts = [thought, content, refusal].filter((text) => typeof text === "string");
  return texts.join("") + (Array.isArray(tool_calls) ? JSON.stringify(tool_calls) : "");
}

/** Whether a choice says anything: some field besides the role that is not empty. */
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
  return typeof part === "object" && part !== null ? (part as Record<string, unknown>) : undefined;
}
