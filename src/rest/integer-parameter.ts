import { z } from "zod";

const DIGITS = /^\d{1,9}$/;

/** A parameter of a query that is a whole number in decimal digits, from `min` to `max`. */
export function integerParameter(min: number, max: number, fallback: number) {
  return z.preprocess(toNumber, integer(min, max).default(fallback));
}

/** The same, undefined if it is not sent. */
export function optionalIntegerParameter(min: number, max: number) {
  return z.preprocess(toNumber, integer(min, max).optional());
}

function integer(min: number, max: number) {
  return z
    .int({ error: `must be a whole number from ${min} to ${max}` })
    .min(min)
    .max(max);
}

function toNumber(text: unknown): unknown {
  return typeof text === "string" && DIGITS.test(text) ? Number(text) : text;
}
