import type { JobLease } from "../../jobs/lease.ts";
import { AppError } from "../../kernel/errors.ts";

/** Until an answer is read again that was too much for the threads. */
const BUSY_MS = 1_000;

/**
 * Reads an answer about a job. While too many others are being read it waits, since the provider has done its work;
 * undefined when the job is interrupted or out of time first.
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
