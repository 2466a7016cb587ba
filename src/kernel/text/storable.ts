/** Whether PostgreSQL can store a text: it has no U+0000, and no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** The first `maxLength` characters of a text, in which U+FFFD stands for what PostgreSQL cannot store. */
export function toStorable(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replaceAll("\0", "\ufffd").toWellFormed();
}
