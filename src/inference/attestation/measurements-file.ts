import { readFileSync } from "node:fs";
import { z } from "zod";
import { StartupError } from "../../kernel/errors.ts";
import type { AllowedMeasurement } from "./appraisal.ts";

const register = z
  .string()
  .regex(/^[0-9a-fA-F]{96}$/, "must be 96 hexadecimal digits")
  .toLowerCase();
const Measurements = z
  .array(
    z.strictObject({
      name: z.string().optional(),
      mrtd: register,
      rtmr1: register,
      rtmr2: register,
      compose_hash: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/, "must be 64 hexadecimal digits")
        .toLowerCase(),
    }),
  )
  .max(1_000);

/** Reads the operator's list of accepted software. Throws a `StartupError` that names the mistake. */
export function readMeasurements(path: string): readonly AllowedMeasurement[] {
  const fail = (reason: string) => new StartupError(`ATTESTATION_MEASUREMENTS: ${reason}`);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw fail(`${path} is not a readable JSON file`);
  }
  const read = Measurements.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw fail(`${path}: ${issue?.path.join(".")} ${issue?.message}`);
  }
  return read.data.map(({ mrtd, rtmr1, rtmr2, compose_hash: composeHash }) => ({
    mrtd,
    rtmr1,
    rtmr2,
    composeHash,
  }));
}
