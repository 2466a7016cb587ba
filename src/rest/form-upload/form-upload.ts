import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { AppError, ClientLeftError } from "../../kernel/errors.ts";
import { isStorable } from "../../kernel/text/storable.ts";

/** Where the file of a form goes while it arrives. */
export type FileTarget = { write(bytes: Buffer): Promise<void> };

/** The text fields of a form. */
export type FormFields = Readonly<Record<string, string>>;

const MAX_FIELDS = 16;
const MAX_FIELD_BYTES = 1_024;
const MAX_NAME_LENGTH = 255;
const MAX_HEADERS = 16;
const MAX_HEADER_BYTES = 4_096;

/** A multipart body with one file, which is read while it arrives and never held as a whole. */
export class FormUpload {
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  /** The announced size of the body, bytes; undefined for a chunked one. */
  get announcedBytes(): number | undefined {
    const length = this.#request.headers["content-length"];
    return length === undefined ? undefined : Number(length);
  }

  /**
   * Reads the form (RFC 7578). The content of its field `file` is written to the target that `open` returns, no faster
   * than that takes it. Resolves with the text fields, which may come before or after the file. Throws `invalid_body`
   * for a malformed form, one without a file, or one with a repeated or unknown part, and what the target throws.
   */
  async read(open: (filename: string) => Promise<FileTarget>): Promise<FormFields> {
    const request = this.#request;
    const parser = openParser(request);
    const fields = new Map<string, string>();
    let content: Readable | undefined;
    let writing: Promise<void> | undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    parser.on("file", (name, stream, filename) => {
      stream.on("error", reject);
      if (name !== "file" || writing) {
        stream.resume();
        reject(
          malformed(writing ? "the file was sent twice" : `${name.slice(0, 64)} is not known here`, "file"),
        );
        return;
      }
      content = stream;
      writing = pour(stream, () => open(nameOf(filename)));
      writing.catch(reject);
    });
    parser.on("field", (name, value, isNameCut, isValueCut) => {
      if (isNameCut || isValueCut) return reject(malformed("a field is too long", name.slice(0, 64)));
      if (fields.has(name))
        return reject(malformed(`${name.slice(0, 64)} was sent twice`, name.slice(0, 64)));
      if (!isStorable(value)) return reject(malformed("a field has a character that is not allowed", name));
      fields.set(name, value);
    });
    for (const event of ["partsLimit", "fieldsLimit", "filesLimit"] as const)
      parser.on(event, () => reject(malformed("it has too many parts")));
    parser.on("error", (error) =>
      reject(malformed("it is truncated or has a malformed part", "body", error)),
    );
    parser.on("finish", () => resolve());
    request.once("error", (error) => reject(error instanceof AppError ? error : new ClientLeftError()));
    request.once("close", () => {
      if (!request.complete) reject(new ClientLeftError());
    });
    // The client left before this was called: no event will follow.
    if (request.destroyed && !request.readableEnded) reject(new ClientLeftError());
    request.pipe(parser);
    try {
      await promise;
      await writing;
    } finally {
      request.unpipe(parser);
      parser.destroy();
      // The parser leaves the stream of an incomplete file open, so `writing` would wait for the rest of it for ever.
      content?.destroy();
      // What was opened is no longer written to when this rejects.
      await writing?.catch(() => {});
    }
    if (!writing) throw malformed("file is required", "file");
    return Object.fromEntries(fields);
  }
}

function openParser(request: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": request.headers["content-type"] ?? "" },
      limits: {
        ...{
          fields: MAX_FIELDS,
          fieldSize: MAX_FIELD_BYTES,
          fieldNameSize: 256,
          parts: MAX_FIELDS + 2,
          files: 2,
        },
        ...{ headerPairs: MAX_HEADERS, headerSize: MAX_HEADER_BYTES },
      },
    });
  } catch (error) {
    throw malformed("the Content-Type names no boundary", "body", error);
  }
}

async function pour(stream: Readable, open: () => Promise<FileTarget>): Promise<void> {
  try {
    const target = await open();
    for await (const chunk of stream) await target.write(chunk as Buffer);
  } finally {
    stream.resume();
  }
}

function nameOf(filename: string | undefined): string {
  const whole = (filename ?? "").toWellFormed().replaceAll("\0", "");
  // The last unit may be the first half of a character.
  const name = whole.slice(0, MAX_NAME_LENGTH).replace(/[\ud800-\udbff]$/, "");
  if (name === "") throw malformed("the file has no name", "file");
  return name;
}

function malformed(what: string, param = "body", cause?: unknown): AppError {
  return new AppError("invalid_body", `The form is not well-formed: ${what}.`, { param, cause });
}
