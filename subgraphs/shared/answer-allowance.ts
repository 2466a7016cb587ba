import { AppError } from "../../src/kernel/errors.ts";

const MEBIBYTE = 1_048_576;
/** The total size of one operation's images, vectors and speech as they are stored: base64. */
const MAX_ANSWER_BYTES = 16 * MEBIBYTE;
/** Copies of an image, a vector or speech in memory: as stored, as parsed, in the result and in the socket's buffer. */
export const ANSWER_COPIES = 4;
/** The endpoint that does what a mutation does. */
const ENDPOINTS = {
  generateImages: "POST /v1/images/generations",
  editImages: "POST /v1/images/edits",
  createEmbeddings: "POST /v1/embeddings",
  createSpeech: "POST /v1/audio/speech",
} as const;

/** How many bytes of images, vectors and speech one operation may still return. */
export class AnswerAllowance {
  #takenBytes = 0;

  /** Takes bytes of the allowance before images are read. Throws `graphql_refused` when not enough is left. */
  take(bytes: number): void {
    if (this.#takenBytes + bytes > MAX_ANSWER_BYTES) throw tooMuch("GET /v1/async/jobs/{jobId}");
    this.#takenBytes += bytes;
  }

  /** Counts what was billed and so is returned in any case. */
  add(bytes: number): void {
    this.#takenBytes += bytes;
  }

  /** Throws `graphql_refused` when nothing is left, before a mutation is billed. */
  requireRoom(field: keyof typeof ENDPOINTS): void {
    if (this.#takenBytes >= MAX_ANSWER_BYTES) throw tooMuch(ENDPOINTS[field]);
  }
}

function tooMuch(endpoint: string): AppError {
  const most = `${MAX_ANSWER_BYTES / MEBIBYTE} MiB`;
  return new AppError(
    "graphql_refused",
    `The images, vectors and speech of one operation may take at most ${most}. Request fewer at a time, or use ${endpoint}.`,
  );
}
