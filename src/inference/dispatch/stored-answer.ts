import { AppError } from "../../kernel/errors.ts";
import type { AnswerCacheService } from "../answer-cache/answer-cache.service.ts";
import type { Admitted } from "../billing/admitted.ts";
import type { Served } from "../billing/ending.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import { ProviderFailure, ProviderRefusal } from "../providers/exchange/provider-failure.ts";
import type { Provider } from "../providers/provider.ts";
import type { AttemptOptions } from "./attempt.ts";
import type { Reading } from "./reading.ts";

/** A stored answer, read as if its provider had just sent it. */
export async function readServed(
  { cached, provider }: Served,
  read: (answer: ProviderAnswer, provider: Provider) => Promise<Reading>,
): Promise<{ readonly answer: ProviderAnswer; readonly reading: Reading }> {
  const answer = { status: 200, responseKey: undefined, ...cached.answer };
  return { answer, reading: await readAs(() => read(answer, provider)) };
}

/** The attempt that replays a stored answer: it counts neither for its provider nor against it. */
export function attemptFor({ provider }: Served, admitted: Admitted): AttemptOptions {
  return {
    ...{ provider, hasOther: false, totalMs: 0 },
    firstByte: () => admitted.markFirstByte(),
    answered() {},
  };
}

/**
 * Waits until a stored answer is read. Undefined if it can no longer be, such as after an upgrade with stricter checks:
 * it is deleted, so that it fails no other request, and counts as none while a provider `mayFollow`.
 */
export async function ifReadable<T>(
  admitted: Admitted,
  cache: Pick<AnswerCacheService, "forget"> | undefined,
  reading: Promise<T>,
  mayFollow = () => true,
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ProviderFailure || error instanceof ProviderRefusal)) throw error;
    await cache?.forget(admitted);
    if (!mayFollow()) throw error;
    admitted.markCacheUse({ status: "miss" });
    return undefined;
  }
}

/** Reads an answer. What fails is a failure of its provider, unless it has a reason for the client. */
export async function readAs<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    // An answer that cannot be edited, for one, is a failure of its provider as well.
    const isReason = cause instanceof AppError && cause.code !== "provider_error";
    if (isReason || cause instanceof ProviderFailure) throw cause;
    throw new ProviderFailure("malformed", { message: "The provider's answer could not be read.", cause });
  }
}
