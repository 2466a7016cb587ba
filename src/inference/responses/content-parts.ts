import { type ElidedText, isText } from "../body/elided-text.ts";
import { PART_MEMBERS, refuseOtherCase } from "../body/field-case.ts";
import type { Fields } from "../body/fields.ts";
import { invalidField } from "../body/invalid-field.ts";
import { notSupported, type Unsupported } from "./unsupported.ts";

type Text = string | ElidedText;

const MAX_PARTS = 10_000;

/**
 * The content of a chat message from the content of an item: a text as it is, parts by their type. A single text part
 * becomes a text, because the templates of many models take no list. What a chat cannot express is added to
 * `unsupported`, and stays as it is. Throws `invalid_body` naming the field at `path`.
 */
export function chatContent(
  content: unknown,
  path: string,
  unsupported: Unsupported,
): Text | readonly Fields[] {
  if (isText(content)) return content;
  if (!Array.isArray(content)) throw invalidField(path, "must be a string or a list of parts");
  if (content.length > MAX_PARTS) throw invalidField(path, `must have at most ${MAX_PARTS} parts`);
  const parts = content.map((part, at) => chatPart(part, `${path}.${at}`, unsupported));
  const [first] = parts;
  return parts.length === 1 && first && isText(first.text) ? first.text : parts;
}

function chatPart(part: unknown, path: string, unsupported: Unsupported): Fields {
  if (!isFields(part)) throw invalidField(path, "must be an object");
  refuseOtherCase(part, (name) => PART_MEMBERS.has(name), path);
  const { type } = part;
  refuseFileId(part, path, type === "input_image" ? "image_url" : "file_data");
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: textOf(part, "text", path) };
    case "refusal":
      return { type: "text", text: textOf(part, "refusal", path) };
    case "input_image":
      return imagePart(part, path);
    case "input_file":
      return filePart(part, path, unsupported);
    case "input_audio":
      if (!isFields(part.input_audio)) throw invalidField(`${path}.input_audio`, "must be an object");
      refuseOtherCase(part.input_audio, (name) => PART_MEMBERS.has(name), `${path}.input_audio`);
      refuseFileId(part.input_audio, `${path}.input_audio`, "data");
      return { type, input_audio: part.input_audio };
    default:
      throw invalidField(`${path}.type`, notSupported("parts", type));
  }
}

function imagePart(part: Fields, path: string): Fields {
  const { detail } = part;
  if (detail !== undefined && detail !== null && typeof detail !== "string")
    throw invalidField(`${path}.detail`, "must be a string");
  return {
    type: "image_url",
    image_url: { url: textOf(part, "image_url", path), ...(detail != null && { detail }) },
  };
}

function filePart(part: Fields, path: string, unsupported: Unsupported): Fields {
  const { filename, file_url: url } = part;
  if (url !== undefined && url !== null) {
    shortTextOf(part, "file_url", path);
    unsupported.add(`${path}.file_url`, "not supported: send the file as file_data");
    return { type: "file", file: { file_data: url } };
  }
  if (filename !== undefined && filename !== null && typeof filename !== "string")
    throw invalidField(`${path}.filename`, "must be a string");
  return {
    type: "file",
    file: { file_data: textOf(part, "file_data", path), ...(filename != null && { filename }) },
  };
}

/** Throws for the id of a file at the provider, where all accounts share the router's account. */
export function refuseFileId({ file_id: id }: Fields, path: string, instead: string): void {
  if (id !== undefined && id !== null)
    throw invalidField(`${path}.file_id`, `files are not stored here: send ${instead}`);
}

/** The member `name`, which must be a text of any length. */
export function textOf(item: Fields, name: string, path: string): Text {
  const text = item[name];
  if (!isText(text)) throw invalidField(`${path}.${name}`, "must be a string");
  return text;
}

/** The member `name`, which must be a text that the router reads. */
export function shortTextOf(item: Fields, name: string, path: string): string {
  const text = item[name];
  if (typeof text !== "string" || text === "")
    throw invalidField(`${path}.${name}`, isText(text) && text !== "" ? "too long" : "must be a string");
  return text;
}

/** One text; a long one is its placeholder, which is replaced when the body is written. */
export function joinedTexts(texts: readonly Text[]): string {
  return texts.map((text) => (typeof text === "string" ? text : text.toJSON())).join("\n\n");
}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isText(value);
}
