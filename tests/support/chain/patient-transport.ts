import { http } from "viem";

/** Longer than any test: its own limit names what it waits for. */
const LIMIT_MS = 600_000;

/**
 * A transport that waits for a busy chain and sends nothing twice: viem's default asks again after ten seconds, and
 * blocks that are mined twice are twice as many.
 */
export function patientTransport(url: string) {
  return http(url, { timeout: LIMIT_MS, retryCount: 0 });
}
