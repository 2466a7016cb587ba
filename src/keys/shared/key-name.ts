import { AppError } from "../../kernel/errors.ts";
import { hasAtMost } from "../../kernel/text/characters.ts";
import { isPrintable } from "../../kernel/text/printable.ts";

const MAX_LENGTH = 100;

/** Trims the name of a key. Throws `invalid_parameter` unless it has 1-100 printable characters. */
export function readKeyName(text: string): string {
  const name = text.trim();
  if (name !== "" && hasAtMost(name, MAX_LENGTH) && isPrintable(name)) return name;
  throw new AppError("invalid_parameter", `A name must have 1 to ${MAX_LENGTH} printable characters.`, {
    param: "name",
  });
}
