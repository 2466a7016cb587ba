import { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";
import type { Streams } from "./streams.ts";

/**
 * Acquires a slot for one more stream over HTTP and returns the function that releases it. Throws `unavailable` when
 * this process has no free slot, `rate_limit_exceeded` when the owner has none.
 */
export function acquireStreamSlot(streams: Streams, principal: Principal, hop: Hop): () => void {
  const releaseProcessSlot = streams.caps.enter();
  if (!releaseProcessSlot)
    throw new AppError("unavailable", "Too many streams are open here. Try again later.");
  const releaseCallerSlot = streams.take("streams", principal, hop);
  if (releaseCallerSlot)
    return () => {
      releaseCallerSlot();
      releaseProcessSlot();
    };
  releaseProcessSlot();
  throw new AppError("rate_limit_exceeded", "Too many streams are open. Close one first.", {
    retryAfterSeconds: 1,
  });
}
