/**
 * The path of the first text within a parsed JSON value that has half of a surrogate pair, such as `messages.0.content`,
 * or of the member whose name has it. Undefined if there is none.
 */
export function pathToLoneSurrogate(value: unknown): string | undefined {
  return pathIn(value)?.join(".");
}

function pathIn(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : [];
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const path = name.isWellFormed() ? pathIn(inner) : [];
    if (path) return [name.toWellFormed(), ...path];
  }
  return undefined;
}
