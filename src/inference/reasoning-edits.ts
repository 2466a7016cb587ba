import { itemsOf, type Range, valuesOf } from "./json-member.ts";

/** That the value at `reasoning` is written in place of what is at `place`, with its name where nothing is there. */
export type ReasoningEdit = { readonly reasoning: Range; readonly place: Range };

const QUOTE = 0x22;
const NAME = Buffer.from(',"reasoning_content":');

/**
 * What gives the messages of a whole chat their `reasoning` as `reasoning_content` too, where they lack it. `body` is
 * JSON that was parsed before; the time is linear, with the texts in it skipped.
 */
export function reasoningEdits(body: Buffer): readonly ReasoningEdit[] {
  const choices = valuesOf(body, "choices").at(-1);
  if (!choices) return [];
  return itemsOf(body, choices).flatMap((choice) => {
    const message = valuesOf(body, "message", choice).at(-1);
    return message ? editOf(body, message) : [];
  });
}

/** The same answer with these edits; all its other bytes are as the provider wrote them. */
export function withEdits(body: Buffer, edits: readonly ReasoningEdit[]): Buffer {
  if (edits.length === 0) return body;
  const parts: Buffer[] = [];
  let done = 0;
  for (const { reasoning, place } of edits) {
    parts.push(body.subarray(done, place.start));
    if (place.start === place.end) parts.push(NAME);
    parts.push(body.subarray(reasoning.start, reasoning.end));
    done = place.end;
  }
  return Buffer.concat([...parts, body.subarray(done)]);
}

function editOf(body: Buffer, message: Range): readonly ReasoningEdit[] {
  const reasoning = trimmed(body, valuesOf(body, "reasoning", message).at(-1));
  if (!reasoning || body[reasoning.start] !== QUOTE || reasoning.end - reasoning.start <= 2) return [];
  const content = trimmed(body, valuesOf(body, "reasoning_content", message).at(-1));
  if (!content) return [{ reasoning, place: { start: reasoning.end, end: reasoning.end } }];
  return body.toString("latin1", content.start, Math.min(content.end, content.start + 5)) === "null"
    ? [{ reasoning, place: content }]
    : [];
}

/** A value without the space around it. */
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
