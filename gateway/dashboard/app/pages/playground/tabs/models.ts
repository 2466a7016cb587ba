/** The options of a `SelectField` of models. */
export function modelOptions(models: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(models.map((id) => [id, id]));
}

/** Lines of a text that are not empty. */
export function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
