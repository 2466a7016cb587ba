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
