import { AppError } from "../../src/kernel/errors.ts";

const MEBIBYTE = 1_048_576;
/** What the images of one operation may take together, as they are stored: base64. */
const MAX_IMAGE_BYTES = 16 * MEBIBYTE;
/** Images are in memory as they are stored, as they are read, in the result and on their way to the client. */
export const IMAGE_COPIES = 4;

/** How many bytes of images one operation may still return. */
export class ImageAllowance {
  #takenBytes = 0;

  /** Takes room before images are read. Throws `graphql_refused` when there is not enough. */
  take(bytes: number): void {
    if (this.#takenBytes + bytes > MAX_IMAGE_BYTES) throw tooMuch("GET /v1/async/jobs/{jobId}");
    this.#takenBytes += bytes;
  }

  /** Counts images that were paid for and so are returned in any case. */
  add(bytes: number): void {
    this.#takenBytes += bytes;
  }

  /** Throws `graphql_refused` when nothing is left, before images are made. */
  requireRoom(): void {
    if (this.#takenBytes >= MAX_IMAGE_BYTES) throw tooMuch("POST /v1/images/generations");
  }
}

function tooMuch(path: string): AppError {
  return new AppError(
    "graphql_refused",
    `The images of one operation take at most ${MAX_IMAGE_BYTES / MEBIBYTE} MiB. Ask for fewer at a time, or use ${path}.`,
  );
}
