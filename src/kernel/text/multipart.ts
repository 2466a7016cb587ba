import { randomBytes } from "node:crypto";
import { indexOfInTurns, TurnMeter } from "../async/turn-queue.ts";
import { AppError } from "../errors.ts";
import { type PartHeaders, readPartHeaders } from "./part-headers.ts";

/** One part of a form. `bytes` is a view of the body, not a copy. */
export type FormPart = PartHeaders & { readonly bytes: Buffer };

const MAX_PARTS = 64;
/** The maximum size of all fields that are not files. */
const MAX_TEXT_BYTES = 1_048_576;
const MAX_HEADER_BYTES = 4_096;
const CRLF = Buffer.from("\r\n");
const HEADERS_END = Buffer.from("\r\n\r\n");
const BOUNDARY = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;",]{1,70}))/i;

/** A received form, or one to be sent. */
export type Form = {
  readonly contentType: string;
  readonly parts: readonly FormPart[];
  /** The body, if it already exists. */
  readonly bytes?: Buffer | undefined;
};

/**
 * Splits a complete multipart body into its parts (RFC 7578), without copying them. Throws `invalid_body` for a body
 * that is truncated, malformed, or of more than 64 parts. A long body is searched in several turns of the event loop.
 */
export async function readMultipart(bytes: Buffer, contentType: string): Promise<Form> {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`);
  const parts: FormPart[] = [];
  const meter = new TurnMeter();
  let at = await indexOfInTurns(meter, bytes, delimiter.subarray(2));
  if (at === -1 || (at > 0 && !bytes.subarray(at - 2, at).equals(CRLF)))
    throw malformed("no boundary was found");
  for (at += delimiter.length - 2; bytes.toString("latin1", at, at + 2) !== "--"; ) {
    if (!bytes.subarray(at, at + 2).equals(CRLF)) throw malformed("a boundary is broken");
    const end = await indexOfInTurns(meter, bytes, delimiter, at);
    if (end === -1) throw malformed("the last boundary is missing");
    if (parts.length === MAX_PARTS) throw malformed("it has too many parts");
    parts.push(readPart(bytes.subarray(at + 2, end)));
    at = end + delimiter.length;
  }
  return { contentType, parts, bytes };
}

/** A form of these parts, with a new boundary. */
export function newForm(parts: readonly FormPart[]): Form {
  return {
    contentType: `multipart/form-data; boundary=----zerograph${randomBytes(16).toString("hex")}`,
    parts,
  };
}

/** The body of a form in which `texts` replace the fields of the same names; unchanged if `texts` is empty. */
export function formBody(
  { contentType, parts, bytes }: Form,
  texts: Readonly<Record<string, string>>,
): Buffer {
  const added = Object.entries(texts).map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  if (bytes && added.length === 0) return bytes;
  const boundary = boundaryOf(contentType);
  const chunks = [...parts.filter(({ name }) => !Object.hasOwn(texts, name)), ...added].flatMap((part) => [
    Buffer.from(`--${boundary}\r\n${headOf(part)}\r\n`),
    part.bytes,
    CRLF,
  ]);
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

/**
 * The text fields of a form by name. Throws `invalid_body` if they exceed 1 MiB in total, and for a duplicate name
 * unless it ends with `[]`.
 */
export function textsOf({ parts }: Form): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  let sizeBytes = 0;
  for (const { name, filename, bytes } of parts) {
    if (filename !== undefined || name.endsWith("[]")) continue;
    sizeBytes += bytes.length;
    if (sizeBytes > MAX_TEXT_BYTES) throw malformed(`${name} is too long`, name);
    if (texts.has(name)) throw malformed(`${name} was sent twice`, name);
    texts.set(name, bytes.toString("utf8"));
  }
  return Object.fromEntries(texts);
}

function boundaryOf(contentType: string): string {
  const [, quoted, bare] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw malformed("the Content-Type names no boundary");
  return boundary;
}

function headOf({ name, filename, contentType }: FormPart): string {
  const file = filename === undefined ? "" : `; filename="${escaped(filename)}"`;
  const type = contentType === undefined ? "" : `Content-Type: ${contentType}\r\n`;
  return `Content-Disposition: form-data; name="${escaped(name)}"${file}\r\n${type}`;
}

function readPart(part: Buffer): FormPart {
  const end = part.subarray(0, MAX_HEADER_BYTES + HEADERS_END.length).indexOf(HEADERS_END);
  if (end === -1) throw malformed("a part has no headers");
  return {
    ...readPartHeaders(part.toString("utf8", 0, end)),
    bytes: part.subarray(end + HEADERS_END.length),
  };
}

/** Escapes names like browsers (WHATWG HTML, multipart/form-data encoding). */
function escaped(name: string): string {
  return name.replace(/\r\n|\r|\n/g, "%0D%0A").replaceAll('"', "%22");
}

function malformed(what: string, param = "body"): AppError {
  return new AppError("invalid_body", `The form is not well-formed: ${what}.`, { param });
}
