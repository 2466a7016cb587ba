import { type Edit, itemsOf, type Range, valuesOf } from "../body/json-member.ts";

const QUOTE = 0x22;

/**
 * The edits that copy `reasoning` to `reasoning_content` in the messages of a whole chat that lack it. `body` is valid
 * JSON. The time is linear, and strings are skipped.
 */
export function reasoningEdits(body: Buffer): readonly Edit[] {
  const choices = valuesOf(body, "choices").at(-1);
  if (!choices) return [];
  return itemsOf(body, choices).flatMap((choice) => {
    const message = valuesOf(body, "message", choice).at(-1);
    return message ? editOf(body, message) : [];
  });
}

function editOf(body: Buffer, message: Range): readonly Edit[] {
  const reasoning = trimmed(body, valuesOf(body, "reasoning", message).at(-1));
  if (!reasoning || body[reasoning.start] !== QUOTE || reasoning.end - reasoning.start <= 2) return [];
  const content = trimmed(body, valuesOf(body, "reasoning_content", message).at(-1));
  if (!content)
    return [
      { place: { start: reasoning.end, end: reasoning.end }, parts: [',"reasoning_content":', reasoning] },
    ];
  return body.toString("latin1", content.start, Math.min(content.end, content.start + 5)) === "null"
    ? [{ place: content, parts: [reasoning] }]
    : [];
}

/** A value without surrounding whitespace. */
function trimmed(body: Buffer, range: Range | undefined): Range | undefined {
  if (!range) return undefined;
  let { start, end } = range;
  while (start < end && isSpace(body[start])) start++;
  while (end > start && isSpace(body[end - 1])) end--;
  return { start, end };
}

function isSpace(byte: number | undefined): boolean {
  return byte !== undefined && byte <= 0x20;
}
