import { AppError } from "../../kernel/errors.ts";
import {
  DeadlineExceeded,
  malformed,
  ProviderFailure,
  ProviderRefusal,
} from "../providers/exchange/provider-failure.ts";

/** The failure of an attempt. Without an account with the provider there is no credential for it. */
export function failureOfAttempt(error: AppError): AppError {
  if (error.code !== "no_available_provider") return error;
  return new ProviderFailure("credential", { message: error.message, cause: error });
}

/** The failure of a stream without content in time. */
export function tooSlow(): ProviderFailure {
  return new ProviderFailure("silent", { cause: new Error("no first token in time") });
}

/**
 * The failure of a stream: it does not count against a provider that exceeded the deadline, but had to wait for the
 * client for more than half of that time.
 */
export function asOfSlowClient(
  failure: AppError,
  { waitMs, totalMs }: { readonly waitMs: number; readonly totalMs: number },
): AppError {
  if (!(failure instanceof DeadlineExceeded) || 2 * waitMs <= totalMs) return failure;
  return new AppError("provider_error", "The answer was read too slowly to end in time.", { cause: failure });
}

/**
 * The failure of a stream that cannot be read. If it had content, the provider had accepted the request, so a refusal
 * without a known reason is its own failure: vLLM reports any exception while it answers as 400.
 */
export function streamFailure(error: unknown, hasContent: boolean): AppError {
  if (hasContent && error instanceof ProviderRefusal)
    return new ProviderFailure("failed", {
      message: "The provider failed.",
      cause: new Error("the request was refused after content"),
    });
  return error instanceof AppError ? error : malformed("The provider's stream is broken.", error);
}

/** Whether an event could not be read, so that it may be the beginning of one. */
export function isMalformed(error: unknown): boolean {
  return !(error instanceof AppError) || (error instanceof ProviderFailure && error.kind === "malformed");
}

/** The client's error when no provider answered. If all are busy, the error is retryable. */
export function allProvidersFailed(last: AppError | undefined): AppError {
  if (!last) return new AppError("no_available_provider", "No provider of this model is available.");
  if (!(last instanceof ProviderFailure)) return last;
  if (last.cause instanceof AppError) return last.cause;
  if (last.kind !== "busy") return last;
  const retryAfterSeconds = Math.max(1, Math.ceil((last.retryAfterMs ?? 1_000) / 1_000));
  return new AppError("no_available_provider", "The providers of this model are busy. Try again.", {
    cause: last,
    retryAfterSeconds,
  });
}
