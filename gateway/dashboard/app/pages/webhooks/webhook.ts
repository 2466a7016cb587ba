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
  readonly attempts: readonly Attempt[];
};

/** Which dialog is open, and for which webhook. */
export type Open =
  | { readonly kind: "create" }
  | { readonly kind: "secret"; readonly secret: string }
  | { readonly kind: "edit" | "delete" | "attempts"; readonly webhook: Webhook };

/** A delivery in words. */
export function wordsOf({ failure, status, durationMs }: Result): string {
  const outcome = failure === null ? "delivered" : failure.toLowerCase().replaceAll("_", " ");
  return `${outcome}, ${status === null ? "no answer" : `status ${status}`}, ${durationMs} ms`;
}
