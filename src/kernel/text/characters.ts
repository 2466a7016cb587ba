import { z } from "zod";

/**
 * Whether a text has at most `max` characters. JSON Schema and PostgreSQL count code points, each of which is one or two
 * units of a string.
 */
export function hasAtMost(text: string, max: number): boolean {
  return text.length <= max || (text.length <= 2 * max && [...text].length <= max);
}

/** A string of 1 to `max` characters, as JSON Schema counts them. */
export function shortString(max: number) {
  return withAtMost(z.string().min(1), max);
}

/** Limits a string to `max` characters, as JSON Schema counts them. */
export function withAtMost<Schema extends z.ZodType<string, string>>(schema: Schema, max: number) {
  const error = `must have at most ${max} characters`;
  return schema.refine((text) => hasAtMost(text, max), { error }).meta({ maxLength: max });
}
