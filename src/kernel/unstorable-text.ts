import { AppError } from "./errors.ts";

/** SQL states of a text with U+0000, as a parameter and in JSON. */
const NULL_CHARACTER = /^(?:22021|22P05)$/;

/**
 * Maps the failure of a statement whose text PostgreSQL cannot store, or compare with, to `invalid_parameter`; other
 * errors are returned unchanged. (A statement that serves several requests is given no such text: all would fail.)
 */
export function unstorableOf(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (!(cause instanceof AppError) && isUnstorable(cause))
      return new AppError("invalid_parameter", "A text contains U+0000 or half of a surrogate pair.", {
        cause: error,
      });
  return error;
}

function isUnstorable({ code, detail, message }: Error & { code?: unknown; detail?: unknown }): boolean {
  const isHalfPair = code === "22P02" && /surrogate/.test(String(detail));
  // The entity manager writes values into the statement, which then ends at the character.
  const isCut = code === "08P01" && message === "invalid message format";
  return isHalfPair || isCut || NULL_CHARACTER.test(String(code));
}
