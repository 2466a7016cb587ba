/** Shorter than the name of a key may be, so that lists show it whole. */
const MAX_CHARACTERS = 64;
/** Characters that the name of a key cannot have: control characters, and those that are invisible or change direction. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** The name of the key that pays for a batch, after the file of its requests, whatever the file is called. */
export function keyNameOf(file: string): string {
  return [...`Batch ${file}`.replaceAll(UNPRINTABLE, "")].slice(0, MAX_CHARACTERS).join("").trim();
}
