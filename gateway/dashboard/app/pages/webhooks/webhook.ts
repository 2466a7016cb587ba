/** The outcome of a delivery. */
export type Result = {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly failure: string | null;
  readonly durationMs: number;
};
/** One delivery. */
export type Attempt = {
  readonly number: number;
  readonly eventId: string;
  readonly event: string;
  readonly sequence: number;
  readonly attemptedAt: string;
  readonly result: Result;
};
/** A URL to which events of the account are posted. */
export type Webhook = {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly balanceThreshold: string | null;
  readonly status: string;
  readonly disabledReason: string | null;
  readonly sequence: number;
  readonly consecutiveFailures: number;
  readonly nextAttemptAt: string | null;
  /** Until when deliveries are signed with the previous secret too. */
  readonly previousSecretUntil: string | null;
  readonly cursor: string;
  readonly attempts: readonly Attempt[];
};

/** Which dialog is open, and for which webhook. */
export type Open =
  | { readonly kind: "create" }
  | { readonly kind: "secret"; readonly secret: string }
  | { readonly kind: "edit" | "delete" | "attempts" | "rotate" | "replay"; readonly webhook: Webhook };

/** Why a delivery failed, and what its receiver can do about it. */
const FAILURES: Readonly<Record<string, string>> = {
  ADDRESS_NOT_ALLOWED: "The host has an address that is not public",
  NAME_NOT_RESOLVED: "DNS lookup failed",
  UNREACHABLE: "Connection refused or closed by the receiver",
  TLS_FAILED: "TLS handshake failed: the certificate is not trusted, expired, or of another host",
  MALFORMED_ANSWER: "The answer was not HTTP/1.1, or its headers were too large",
  TIMED_OUT: "No answer within 15 seconds",
  REDIRECTED: "The receiver redirected, which is not followed",
  REFUSED: "The receiver answered with an error",
};

/** A delivery in words, such as `Delivered (status 204, 12 ms)`. */
export function wordsOf({ failure, status, durationMs }: Result): string {
  const outcome = failure === null ? "Delivered" : (FAILURES[failure] ?? failure.toLowerCase());
  return `${outcome} (${status === null ? "" : `status ${status}, `}${durationMs} ms)`;
}

/** Why a webhook is disabled, in words. */
export const DISABLED: Readonly<Record<string, string>> = {
  OWNER: "you disabled it",
  GONE: "the receiver answered that it is gone (status 410)",
  FAILING: "deliveries failed for 24 hours",
  EXPIRED: "an event expired before it was delivered",
};
