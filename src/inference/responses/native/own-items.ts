import { isFields } from "../content-parts.ts";

/**
 * The input without the ids by which a provider would look up what it has stored of reasoning: its account is that of
 * all clients of the router. Reasoning that has its encrypted content is not looked up. Undefined if nothing changes.
 */
export function withoutReferences(input: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(input) || !input.some(isReference)) return undefined;
  return input.map((item: unknown) => {
    if (!isReference(item)) return item;
    const { id: _, ...own } = item;
    return own;
  });
}

function isReference(item: unknown): item is Readonly<Record<string, unknown>> {
  if (!isFields(item) || item.type !== "reasoning") return false;
  return Object.hasOwn(item, "id") && !item.encrypted_content;
}
