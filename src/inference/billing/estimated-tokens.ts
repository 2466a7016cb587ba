/** For English text and JSON, with the usual vocabularies. */
const BYTES_PER_TOKEN = 4;

/** About how many tokens a text of so many bytes has, where it is not counted. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
