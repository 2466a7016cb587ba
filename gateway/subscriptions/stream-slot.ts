import { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";
import type { Streams } from "./streams.ts";

/**
 * A place for one more stream over HTTP; the function returned gives it back. Throws `unavailable` when this process has
 * no place, `rate_limit_exceeded` when the owner has taken all of theirs.
 */
export function acquireStreamSlot(streams: Streams, principal: Principal, hop: Hop): () => void {
  const leave = streams.caps.enter();
  if (!leave) throw new AppError("unavailable", "Too many streams are open here. Try again later.");
  const give = streams.take("streams", principal, hop);
  if (give)
    return () => {
      give();
      leave();
    };
  leave();
  throw new AppError("rate_limit_exceeded", "Too many streams are open. Close one first.", {
    retryAfterSeconds: 1,
  });
}
