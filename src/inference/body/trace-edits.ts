import type { Fields } from "./fields.ts";
import { type Edit, removals } from "./json-member.ts";

/** The member with the bill, which only the router may state. */
const TRACE = "x_0g_trace";
/** How the name may be written: as it is, or with escapes. */
const SIGNS = [Buffer.from(TRACE), Buffer.from("\\u")];

/** Whether an answer may have a bill of the provider's. Most have none, which native searches show. */
export function mayHaveTrace(json: Buffer): boolean {
  return SIGNS.some((sign) => json.includes(sign));
}

/**
 * The edits that remove a bill of the provider's from a valid JSON object, because it would be taken for the router's.
 * Throws `provider_error` when it is repeated more than 16 times.
 */
export function traceEdits(object: Buffer): readonly Edit[] {
  return mayHaveTrace(object) ? removals(object, TRACE) : [];
}

/** A parsed event without a bill, in itself and in the answer that is its member `answer`; itself if it has none. */
export function withoutTrace(event: Fields, answer: string): Fields {
  const { [answer]: whole } = event;
  if (!hasTrace(event) && !hasTrace(whole)) return event;
  const { [TRACE]: _, ...others } = event;
  return hasTrace(whole) ? { ...others, [answer]: { ...(whole as Fields), [TRACE]: undefined } } : others;
}

/** Whether a parsed object has a bill. */
export function hasTrace(object: unknown): boolean {
  return typeof object === "object" && object !== null && Object.hasOwn(object, TRACE);
}
