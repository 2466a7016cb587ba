import { isText } from "./elided-text.ts";
import type { Fields } from "./fields.ts";

/**
 * Assumed tokens of an attachment, which has no text to count. `most` is used for the hold: vision models of the
 * network turn an image into up to 16,384 tokens, and any excess is charged to the free balance. `usual` is billed for
 * a provider that reports no usage.
 */
export const ATTACHMENT_TOKENS = {
  image: { usual: 1_100, most: 16_384 },
  audio: { usual: 1_100, most: 65_536 },
  video: { usual: 10_000, most: 131_072 },
  file: { usual: 10_000, most: 131_072 },
} as const;

/** An attachment: its kind, and the length of its content or URL in characters of the request. */
export type Attachment = { readonly kind: keyof typeof ATTACHMENT_TOKENS; readonly length: number };

/**
 * Recognizes an attachment in OpenAI's format (`image_url`, `input_audio`, `audio_url`, `video_url`, `file`) or in
 * Anthropic's (a block of type `image` or `document` whose source is data or a URL); undefined for all other parts.
 */
export function attachmentOf(part: unknown): Attachment | undefined {
  if (!isFields(part)) return undefined;
  const { image_url, input_audio, audio_url, video_url, file, type, source } = part;
  if (image_url !== undefined) return { kind: "image", length: lengthOf(image_url, "url") };
  if (input_audio !== undefined) return { kind: "audio", length: lengthOf(input_audio, "data") };
  if (audio_url !== undefined) return { kind: "audio", length: lengthOf(audio_url, "url") };
  if (video_url !== undefined) return { kind: "video", length: lengthOf(video_url, "url") };
  if (file !== undefined) return { kind: "file", length: lengthOf(file, "file_data") };
  if ((type !== "image" && type !== "document") || !isFields(source) || !SOURCES.has(source.type))
    return undefined;
  const length = Math.max(lengthOf(source, "data"), lengthOf(source, "url"));
  return { kind: type === "image" ? "image" : "file", length };
}

/** Nested blocks of a part: those of a tool result, or of a document made of blocks. */
export function partsWithin(part: unknown): readonly unknown[] {
  if (!isFields(part)) return [];
  const { content, source } = part;
  if (Array.isArray(content)) return content;
  return isFields(source) && Array.isArray(source.content) ? source.content : [];
}

/** A source of type `text` counts as text, even in a `document` block. */
const SOURCES: ReadonlySet<unknown> = new Set(["base64", "url", "file"]);

/** The length of a text, or of an object's member `name` if that is a text. */
function lengthOf(value: unknown, name: string): number {
  const text = isFields(value) ? value[name] : value;
  return isText(text) ? text.length : 0;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
