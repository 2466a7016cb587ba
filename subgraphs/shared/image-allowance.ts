import { AppError } from "../../src/kernel/errors.ts";

const MEBIBYTE = 1_048_576;
/** The total size of one operation's images as they are stored: base64. */
const MAX_IMAGE_BYTES = 16 * MEBIBYTE;
/** Copies of an image in memory: as stored, as parsed, in the result and in the socket's buffer. */
export const IMAGE_COPIES = 4;

/** The endpoint that does what a mutation does. */
const PATHS = {
  generateImages: "POST /v1/images/generations",
  editImages: "POST /v1/images/edits",
} as const;

/** How many bytes of images one operation may still return. */
export class ImageAllowance {
  #takenBytes = 0;

  /** Takes bytes of the allowance before images are read. Throws `graphql_refused` when not enough is left. */
  take(bytes: number): void {
    if (this.#takenBytes + bytes > MAX_IMAGE_BYTES) throw tooMuch("GET /v1/async/jobs/{jobId}");
    this.#takenBytes += bytes;
  }

  /** Counts images that were billed and so are returned in any case. */
  add(bytes: number): void {
    this.#takenBytes += bytes;
  }

  /** Throws `graphql_refused` when nothing is left, before a mutation generates images. */
  requireRoom(field: keyof typeof PATHS): void {
    if (this.#takenBytes >= MAX_IMAGE_BYTES) throw tooMuch(PATHS[field]);
  }
}

function tooMuch(path: string): AppError {
  return new AppError(
    "graphql_refused",
    `The images of one operation take at most ${MAX_IMAGE_BYTES / MEBIBYTE} MiB. Request fewer at a time, or use ${path}.`,
  );
}
