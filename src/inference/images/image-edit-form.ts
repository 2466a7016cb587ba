import { readBase64 } from "../../kernel/text/base64.ts";
import { type FormPart, formBody, newForm } from "../../kernel/text/multipart.ts";
import { invalidField } from "../body/invalid-field.ts";

/** An image of an edit that is sent in JSON: base64, and the name of its file. */
export type EncodedImage = { readonly fileBase64: string; readonly filename?: string | null | undefined };

/** An image edit that is sent in JSON. `texts` are its text fields by name; a null one is not sent. */
export type EncodedEdit = {
  readonly images: readonly EncodedImage[];
  readonly mask?: EncodedImage | null | undefined;
  readonly texts: Readonly<Record<string, unknown>>;
};

/** Images and mask together, as in a form (`readImageEdit`). */
const MAX_FILES = 16;
const MAX_NAME_LENGTH = 255;
const PLAIN: ReadonlySet<string> = new Set(["string", "number", "boolean"]);
/** How a file of each type begins. */
const TYPES = [
  { extension: "png", type: "image/png", begins: /^\x89PNG/ },
  { extension: "jpg", type: "image/jpeg", begins: /^\xff\xd8\xff/ },
  { extension: "webp", type: "image/webp", begins: /^RIFF....WEBP/s },
] as const;

/**
 * The form of an image edit, as a client of REST would send it. Throws `invalid_body` with the path of the field at
 * fault: `images.0.fileBase64`, `mask.fileBase64`, or `options.` and the name of a text field.
 */
export function imageEditForm({ images, mask, texts }: EncodedEdit): {
  readonly body: Buffer;
  readonly contentType: string;
} {
  const count = images.length + (mask ? 1 : 0);
  if (images.length === 0) throw invalidField("images", "is empty");
  if (count > MAX_FILES)
    throw invalidField("images", `at most ${MAX_FILES} files are allowed, with the mask`);
  const name = images.length === 1 ? "image" : "image[]";
  const form = newForm([
    ...Object.entries(texts).flatMap(([field, value]) => toText(field, value)),
    ...images.map((image, n) => toFile(name, image, `images.${n}`)),
    ...(mask ? [toFile("mask", mask, "mask")] : []),
  ]);
  return { body: formBody(form, {}), contentType: form.contentType };
}

function toText(name: string, value: unknown): readonly FormPart[] {
  if (value === undefined || value === null) return [];
  if (!PLAIN.has(typeof value))
    throw invalidField(`options.${name}`, "must be a text, a number or a boolean");
  return [{ name, bytes: Buffer.from(String(value)) }];
}

function toFile(name: string, { fileBase64, filename }: EncodedImage, path: string): FormPart {
  const bytes = readBase64(fileBase64);
  if (!bytes || bytes.length === 0)
    throw invalidField(
      `${path}.fileBase64`,
      "must be base64 in the standard alphabet, padded, and not empty",
    );
  if (filename != null && (filename === "" || filename.length > MAX_NAME_LENGTH))
    throw invalidField(`${path}.filename`, `must have 1 to ${MAX_NAME_LENGTH} characters`);
  const start = bytes.toString("latin1", 0, 16);
  const { extension, type } = TYPES.find(({ begins }) => begins.test(start)) ?? TYPES[0];
  return {
    name,
    filename: filename ?? `${name === "mask" ? "mask" : "image"}.${extension}`,
    contentType: type,
    bytes,
  };
}
