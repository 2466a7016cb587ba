import { numberOf, RETRY_DEFAULTS, type RetryOptions } from "./backoff.ts";
import type { SubscribeOptions } from "./subscribe-options.ts";

/** The settings of a subscription in numbers, with a value for each. */
export type SubscriptionLimits = {
  readonly retry: Required<RetryOptions>;
  readonly silentMs: number;
  readonly maxWaiting: number;
};

/** Options that are `undefined` leave the default. Throws a `RangeError` for anything but a number of at least 0. */
export function limitsOf({ retry = {}, silentMs, maxWaiting }: SubscribeOptions): SubscriptionLimits {
  const { minPauseMs, maxPauseMs, giveUpAfterMs } = RETRY_DEFAULTS;
  return {
    retry: {
      minPauseMs: numberOf("retry.minPauseMs", retry.minPauseMs, minPauseMs),
      maxPauseMs: numberOf("retry.maxPauseMs", retry.maxPauseMs, maxPauseMs),
      giveUpAfterMs: numberOf("retry.giveUpAfterMs", retry.giveUpAfterMs, giveUpAfterMs),
    },
    silentMs: numberOf("silentMs", silentMs, 30_000),
    // An event that a reader takes as it arrives has not waited.
    maxWaiting: Math.max(1, numberOf("maxWaiting", maxWaiting, 1_000)),
  };
}
