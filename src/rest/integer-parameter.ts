import { z } from "zod";

const DIGITS = /^\d{1,9}$/;

/** A parameter of a query that is a whole number in decimal digits, from `min` to `max`. */
export function integerParameter(min: number, max: number, fallback: number) {
  return z.preprocess(
    (text) => (typeof text === "string" && DIGITS.test(text) ? Number(text) : text),
    z
      .int({ error: `must be a whole number from ${min} to ${max}` })
      .min(min)
      .max(max)
      .default(fallback),
  );
}
