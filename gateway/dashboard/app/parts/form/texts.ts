import * as z from "zod";

/** The most characters of the name of a key or a webhook. */
export const MAX_NAME_LENGTH = 100;

/** A text of up to `most` characters, without spaces around it; `missing` says what is to be entered. */
export function text(most: number, missing: string) {
  return z
    .string()
    .trim()
    .min(1, missing)
    .max(most, `At most ${most.toLocaleString("en")} characters.`);
}
