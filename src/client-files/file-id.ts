/** A file's id as clients see it: OpenAI's prefix and the digits of its row id. */
export const FILE_ID = /^file-([0-9a-f]{32})$/;

/** The id of a file as clients see it. */
export function shownFileId(id: string): string {
  return `file-${toDigits(id)}`;
}

/** The id of the row of a file; empty for a text that is no id of a file. */
export function readFileId(text: string): string {
  return fromDigits(FILE_ID.exec(text)?.[1]);
}

/** The 32 digits of a row id. */
export function toDigits(id: string): string {
  return id.replaceAll("-", "");
}

/** The row id with these 32 digits; empty without them. */
export function fromDigits(digits: string | undefined): string {
  return digits?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") ?? "";
}
