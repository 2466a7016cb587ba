import { randomBytes } from "node:crypto";

/** Where the content of a long text of a JSON body begins and ends, bytes, without its quotes. */
export type TextSpan = { readonly start: number; readonly end: number };

/** A client cannot write this by itself, so it cannot state the length of a text that it did not send. */
const MARK = `elided-${randomBytes(16).toString("hex")}:`;
const PLACEHOLDER = new RegExp(`${MARK}(\\d+):(\\d+)`);
const PLACEHOLDERS = new RegExp(PLACEHOLDER, "g");

/** The same JSON with a placeholder for each of its long texts: what is left is parsed in a few milliseconds. */
export function elideTexts(json: Buffer, spans: readonly TextSpan[]): Buffer {
  const parts: Buffer[] = [];
  let done = 0;
  for (const [index, { start, end }] of spans.entries()) {
    parts.push(json.subarray(done, start), Buffer.from(`${MARK}${index}:${end - start}`));
    done = end;
  }
  return Buffer.concat([...parts, json.subarray(done)]);
}

/** The length of a text, or of the one that it is the placeholder of, which is in bytes of JSON. */
export function lengthOfText(text: string): number {
  if (!text.startsWith(MARK)) return text.length;
  return Number(PLACEHOLDER.exec(text)?.[2]);
}

/** A JSON text that was written of values with placeholders, with the bytes of `json` in their places. */
export function restoreTexts(text: string, json: Buffer, spans: readonly TextSpan[]): Buffer {
  const parts: Buffer[] = [];
  let done = 0;
  for (const match of text.matchAll(PLACEHOLDERS)) {
    const span = spans[Number(match[1])];
    if (!span) continue;
    parts.push(Buffer.from(text.slice(done, match.index)), json.subarray(span.start, span.end));
    done = match.index + match[0].length;
  }
  return Buffer.concat([...parts, Buffer.from(text.slice(done))]);
}
