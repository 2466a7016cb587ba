import type { JobLease } from "../../jobs/lease.ts";
import { AppError } from "../../kernel/errors.ts";

/** Delay before an answer is read again after the threads were too busy. */
const BUSY_MS = 1_000;

/**
 * Reads an answer about a job. Waits while too many others are being read, because the provider has already done the
 * work. Undefined if the job is interrupted or runs out of time first.
 */
export async function readWhenRoom<T>(
  lease: Pick<JobLease, "signal" | "leftMs">,
  read: () => Promise<T>,
  pause: (ms: number) => Promise<void>,
): Promise<T | undefined> {
  while (!lease.signal.aborted) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "unavailable") throw error;
      if (lease.leftMs <= 0) return undefined;
      await pause(BUSY_MS);
    }
  }
  return undefined;
}
