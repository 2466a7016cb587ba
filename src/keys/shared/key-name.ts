import { AppError } from "../../kernel/errors.ts";

const MAX_LENGTH = 100;

/** Trims the name of a key. Throws `invalid_parameter` unless it has 1-100 printable characters. */
export function readKeyName(text: string): string {
  const name = text.trim();
  if (name.length >= 1 && name.length <= MAX_LENGTH && !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(name)) return name;
  throw new AppError("invalid_parameter", `A name must have 1 to ${MAX_LENGTH} printable characters.`, {
    param: "name",
  });
}
