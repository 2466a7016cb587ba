import { attachmentOf, partsWithin } from "../body/attachments.ts";
import type { Fields } from "../body/fields.ts";

/** Fields of a chat that are not counted as its prompt, and which servers may put into it. */
const OTHER_FIELDS = [
  ...["chat_template", "chat_template_kwargs", "prediction", "response_format", "tool_choice"],
  ...["guided_json", "guided_regex", "guided_grammar", "guided_choice", "structured_outputs"],
];
/** The members of an attachment in which its content is, or a URL of it. */
const CONTENTS: ReadonlySet<string> = new Set(["url", "data", "file_data"]);
const ATTACHMENTS = ["image_url", "input_audio", "audio_url", "video_url", "file", "source"];
/** The types of parts are shorter. */
const MAX_TYPE_LENGTH = 64;

/**
 * The parts of a valid request body that `countRequestTokens` does not count, and that a server may put into the
 * prompt: some of its fields, and the members of messages' parts and of documents besides their texts. Not billed, as
 * most servers ignore it.
 */
export function otherInputsOf(body: unknown): string {
  if (!isFields(body)) return "";
  const { messages, system, documents } = body;
  const others: unknown[] = OTHER_FIELDS.map((name) => body[name]);
  if (Array.isArray(documents)) for (const document of documents) addExtras(document, others);
  else others.push(documents);
  if (Array.isArray(messages))
    for (const message of messages)
      if (isFields(message)) for (const value of Object.values(message)) addPartsOf(value, others);
  addPartsOf(system, others);
  return others.flatMap((value) => (value == null ? [] : [JSON.stringify(value)])).join("\n");
}

function addPartsOf(value: unknown, others: unknown[]): void {
  if (Array.isArray(value)) for (const part of value) addExtras(part, others);
}

/** Adds what is not counted of a part: of one that is counted as a whole, nothing. */
function addExtras(part: unknown, others: unknown[]): void {
  if (!isFields(part)) return;
  const within = partsWithin(part);
  const isAttached = attachmentOf(part) !== undefined;
  const hasText = typeof part.text === "string";
  if (within.length === 0 && !isAttached && !hasText) return;
  for (const inner of within) addExtras(inner, others);
  for (const [name, value] of Object.entries(part)) {
    if (name === "text" && hasText && within.length === 0) continue;
    if (value === within || isShortType(name, value)) continue;
    if (ATTACHMENTS.includes(name)) addBesideContent(value, within, others);
    else others.push(value);
  }
}

function addBesideContent(attached: unknown, within: unknown, others: unknown[]): void {
  if (!isFields(attached)) return;
  for (const [name, value] of Object.entries(attached))
    if (!CONTENTS.has(name) && value !== within && !isShortType(name, value)) others.push(value);
}

function isShortType(name: string, value: unknown): boolean {
  return name === "type" && typeof value === "string" && value.length <= MAX_TYPE_LENGTH;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
