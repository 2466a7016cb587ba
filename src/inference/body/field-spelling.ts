import type { Fields } from "./fields.ts";
import { invalidField } from "./invalid-field.ts";
import { FILES } from "./message-parts.ts";

/** What a name in lower case has not. */
const OTHER_LETTERS = /[A-Z\u0080-\uffff]/;

/** The members of a tool that the router reads, or whose absence it relies on. */
export const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  ...["type", "name", "function", "custom", "tools", "definition", "execution"],
]);

/** The same of a part of a message, and of an item of an input. */
export const PART_MEMBERS: ReadonlySet<string> = new Set([
  ...["type", "role", "text", "content", "output", "id", "file_id", "encrypted_content"],
  ...["tool", "tools", "tool_changes", "audio", ...FILES],
]);

/** A name as servers compare it that ignore the case of letters, as JSON is read in Go and in .NET. */
export function foldedName(name: string): string {
  return OTHER_LETTERS.test(name) ? name.toUpperCase().toLowerCase() : name;
}

/**
 * Throws `invalid_body` for a member that has a known name in other letters, such as `MAX_TOKENS`: the router does not
 * know it, while some servers read it as that member, so that another request would be answered than was admitted.
 */
export function refuseOtherSpellings(
  object: Fields,
  isKnown: (name: string) => boolean,
  path: string | undefined = undefined,
): void {
  for (const name in object) {
    if (!OTHER_LETTERS.test(name)) continue;
    const known = foldedName(name);
    if (known === name || !isKnown(known)) continue;
    throw invalidField(path === undefined ? name : `${path}.${name}`, `must be written ${known}`);
  }
}
