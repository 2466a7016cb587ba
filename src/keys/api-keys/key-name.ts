import { AppError } from "../../kernel/errors.ts";

const MAX_LENGTH = 100;

/** The name of a key as it is kept: without spaces at its ends. Throws `invalid_parameter` unless 1-100 printable characters. */
export function readKeyName(text: string): string {
  const name = text.trim();
  if (name.length >= 1 && name.length <= MAX_LENGTH && !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(name)) return name;
  throw new AppError("invalid_parameter", `A name has 1 to ${MAX_LENGTH} printable characters.`, {
    param: "name",
  });
}
