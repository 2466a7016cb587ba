import type { Hex } from "../../kernel/text/hex.ts";

/** SHA-256 of "STREAM": the first word of the tags of a submission that writes to streams (facts: storage section 5.1). */
export const STREAM_DOMAIN = "0xdf2ff3bb0af36c6384e6206552a4ed807f6f6a26e7d0aa6bff772ddc9d4307aa";

const WORD_DIGITS = 64;

/** The tags of a submission that touches these streams. */
export function encodeTags(streamIds: Iterable<Hex>): Hex {
  return `${STREAM_DOMAIN}${[...streamIds].map((id) => id.slice(2)).join("")}`;
}

/** The streams named in the tags of a submission, each once; undefined for tags that are not of key-value. */
export function decodeTags(tags: Hex): readonly Hex[] | undefined {
  const digits = tags.slice(2);
  if (!tags.startsWith(STREAM_DOMAIN) || digits.length % WORD_DIGITS !== 0) return undefined;
  const ids = new Set<Hex>();
  for (let at = WORD_DIGITS; at < digits.length; at += WORD_DIGITS)
    ids.add(`0x${digits.slice(at, at + WORD_DIGITS)}`);
  return ids.size === 0 ? undefined : [...ids];
}
