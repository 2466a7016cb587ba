import { type Fields, fieldsOf } from "../body/fields.ts";

/** The maximum tokens of a summary that are charged. Anthropic states none; a summary usually has a few thousand. */
const SUMMARY_TOKENS = 16_384;
/** `compact_20260112`, and later versions. */
const COMPACT = /^compact/;

/** How often the provider may read a prompt, and the maximum tokens that it writes besides the answer. */
export type Compaction = { readonly readings: number; readonly summaryTokens: number };

/**
 * Whether the provider may summarize the conversation before it answers, as `context_management` or `compaction` allows
 * (https://platform.claude.com/docs/en/build-with-claude/compaction). It then reads the prompt to summarize it, and the
 * summary to answer. It would summarize again only between calls of tools that it runs itself, which are refused.
 */
export function compactionOf({ context_management: management, compaction }: Fields): Compaction {
  const isCompacted = compaction != null || editsOf(management).some(isCompact);
  return isCompacted ? { readings: 2, summaryTokens: SUMMARY_TOKENS } : { readings: 1, summaryTokens: 0 };
}

function editsOf(management: unknown): readonly unknown[] {
  const { edits } = fieldsOf(management);
  return Array.isArray(edits) ? edits : [];
}

function isCompact(edit: unknown): boolean {
  const { type } = fieldsOf(edit);
  return typeof type === "string" && COMPACT.test(type);
}
