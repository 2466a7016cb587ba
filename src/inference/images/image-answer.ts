import { toStorable } from "../../kernel/text/storable.ts";
import { outlineOf, parseAnswerJson } from "../body/outline.ts";
import { sha256 } from "../providers/exchange/exchange-hasher.ts";
import { MAX_IMAGES, MAX_PROMPT_LENGTH } from "./image-request.ts";

/** An image as providers return it, in base64. */
export type AnsweredImage = { readonly b64_json: string; readonly revised_prompt: string | null };

/** The images of one of our answers, and its `x_0g_trace` if it has one. */
export type AnsweredImages = { readonly images: readonly AnsweredImage[]; readonly trace: unknown };

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Whether an item of a provider's list has an image in base64, which is not empty when it is decoded. */
export function isImage(
  item: unknown,
): item is { readonly b64_json: string; readonly revised_prompt?: unknown } {
  if (typeof item !== "object" || item === null || !("b64_json" in item)) return false;
  return typeof item.b64_json === "string" && BASE64.test(item.b64_json) && isDecodable(item.b64_json);
}

/** A single character after whole groups of four has six bits, too few for a byte. */
function isDecodable(base64: string): boolean {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length - padding) % 4 !== 1;
}

/** What the router reads from a provider's answer with images, without the images themselves. */
export type GeneratedImages = {
  /** The outline of the answer. */
  readonly fields: unknown;
  /** The number of images; undefined unless `data` is a list of images. */
  readonly images: number | undefined;
};

/** Reads the JSON of images. Throws what `parseAnswerJson` throws. Long answers are read by `BodyPool`. */
export function readGenerated(body: Buffer): GeneratedImages {
  const value = parseAnswerJson(body);
  const data = typeof value === "object" && value !== null && "data" in value ? value.data : undefined;
  const hasImages = Array.isArray(data) && data.length > 0 && data.every(isImage);
  return { fields: outlineOf(value), images: hasImages ? data.length : undefined };
}

/** SHA-256 of each decoded image of a validated answer, or of the validated result of a job, in order. */
export function hashImages(json: string): readonly string[] {
  const { data } = JSON.parse(json) as { readonly data: readonly { readonly b64_json: string }[] };
  return data.map(({ b64_json }) => sha256(Buffer.from(b64_json, "base64")));
}

/**
 * Reads a validated image answer, or the validated result of an image job: JSON with a list `data`. Images beyond the
 * maximum of a request are dropped.
 */
export function readImages(json: string): AnsweredImages {
  const { data, x_0g_trace: trace } = JSON.parse(json) as {
    readonly data: readonly { readonly b64_json: string; readonly revised_prompt?: unknown }[];
    readonly x_0g_trace?: unknown;
  };
  const images = data.slice(0, MAX_IMAGES).map(({ b64_json, revised_prompt }) => ({
    b64_json,
    revised_prompt: typeof revised_prompt === "string" ? toStorable(revised_prompt, MAX_PROMPT_LENGTH) : null,
  }));
  return { images, trace };
}
