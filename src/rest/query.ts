import { z } from "zod";

const MAX_VALUES = 100;

/** An optional parameter that may be repeated. */
export function manyOf<T extends z.ZodType<string, string>>(value: T) {
  return z
    .union([value.transform((one) => [one]), z.array(value).max(MAX_VALUES)])
    .optional()
    .transform((values) => values ?? []);
}
