import type { Fields } from "./fields.ts";
import { invalidField } from "./invalid-field.ts";
import { FILES } from "./message-parts.ts";

/** A character that a name in lower case cannot have. */
const NOT_LOWER_CASE = /[A-Z\u0080-\uffff]/;

/** The members of a tool that the router reads, or whose absence it relies on. */
export const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  ...["type", "name", "function", "custom", "tools", "definition", "execution"],
]);

/** The same for a part of a message and for an item of an input. */
export const PART_MEMBERS: ReadonlySet<string> = new Set([
  ...["type", "role", "text", "content", "output", "id", "file_id", "encrypted_content"],
  ...["tool", "tools", "tool_changes", "audio", ...FILES],
]);

/** A name as case-insensitive JSON parsers, such as those of Go and .NET, compare it. */
export function foldedName(name: string): string {
  return NOT_LOWER_CASE.test(name) ? name.toUpperCase().toLowerCase() : name;
}

/**
 * Throws `invalid_body` for a member whose name differs from a known one only in case, such as `MAX_TOKENS`: the router
 * does not know it, but some servers read it as that member, and would answer another request than the admitted one.
 */
export function refuseOtherCase(
  object: Fields,
  isKnown: (name: string) => boolean,
  path: string | undefined = undefined,
): void {
  for (const name in object) {
    if (!NOT_LOWER_CASE.test(name)) continue;
    const known = foldedName(name);
    if (known === name || !isKnown(known)) continue;
    throw invalidField(path === undefined ? name : `${path}.${name}`, `must be written ${known}`);
  }
}
