import type { z } from "zod";
import { AppError } from "./errors.ts";
import { invalidReason } from "./invalid-reason.ts";
import { isStorable } from "./text/storable.ts";

/**
 * Checks the texts of a query, by name, for characters that the database cannot store or compare with: U+0000
 * and half of a surrogate pair. Throws `invalid_parameter`, naming the first one that has any.
 */
export function checkTexts(texts: Readonly<Record<string, unknown>>): void {
  for (const param in texts) {
    const values = [texts[param]].flat();
    if (values.some((value) => typeof value === "string" && !isStorable(value)))
      throw new AppError("invalid_parameter", `${param}: has a character that is not allowed`, { param });
  }
}

/** Checks every text within a value like `checkTexts`, and names it by its path, which begins with `param`. */
export function checkTextsIn(value: unknown, param: string): void {
  if (typeof value === "string") checkTexts({ [param]: value });
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) checkTextsIn(inner, `${param}.${name}`);
}

/**
 * Validates client input against a schema. Throws `code`, naming the first field that is invalid, missing or unknown,
 * or `body` if the body as a whole is invalid.
 */
export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: "invalid_body" | "invalid_parameter" = "invalid_body",
): z.output<Schema> {
  const result = schema.safeParse(value, { error: invalidReason });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  // A member may have an empty name.
  const path = [...(issue?.path ?? []), ...unknown];
  const param = path.length > 0 ? path.join(".") : "body";
  const what = unknown.length > 0 ? "is not known here" : (issue?.message ?? "malformed");
  throw new AppError(code, `${param}: ${what}`, { param });
}
