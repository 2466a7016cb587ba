import { fieldsOf } from "../body/fields.ts";

/**
 * Whether a choice, whole or streamed, has its reasoning only as `reasoning`, which some servers use; the network's
 * clients read `reasoning_content` (facts 1.3).
 */
export function lacksReasoningContent(choice: unknown): boolean {
  const { delta, message } = fieldsOf(choice);
  const { reasoning, reasoning_content: content } = fieldsOf(delta ?? message);
  return typeof reasoning === "string" && reasoning !== "" && (content === undefined || content === null);
}

/** The same choice with its reasoning under both names. */
export function withReasoningContent(choice: unknown): unknown {
  if (!lacksReasoningContent(choice)) return choice;
  const fields = fieldsOf(choice);
  const name = fields.delta === undefined ? "message" : "delta";
  const part = fieldsOf(fields[name]);
  return { ...fields, [name]: { ...part, reasoning_content: part.reasoning } };
}
