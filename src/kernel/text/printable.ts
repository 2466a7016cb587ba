/**
 * Whether every character of a text can be seen where it is: none is a control, half of a surrogate pair, a line
 * separator, or a format character, which is invisible or changes the direction of others. Joiners between the parts of
 * an emoji or of a script's ligature are allowed, within the text.
 */
export function isPrintable(text: string): boolean {
  const joined = text.replaceAll(JOINER, "");
  return !/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(joined);
}

/** A zero-width joiner or non-joiner between a letter, mark, emoji or variation selector and another of these. */
const JOINER = /(?<=\p{L}|\p{M}|\p{Emoji}|\uFE0F)(?:\u200C|\u200D)(?=\p{L}|\p{M}|\p{Emoji})/gu;
