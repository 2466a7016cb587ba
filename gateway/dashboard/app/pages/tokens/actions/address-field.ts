import * as z from "zod";

/** The address of an account, as it is entered. */
export const addressField = z
  .string()
  .trim()
  .regex(/^0x[0-9A-Fa-f]{40}$/, "An address is 0x and 40 hexadecimal digits.");

/** A hash of 32 bytes, as it is entered. */
export const hashField = z
  .string()
  .trim()
  .regex(/^0x[0-9A-Fa-f]{64}$/, "A hash is 0x and 64 hexadecimal digits.");
