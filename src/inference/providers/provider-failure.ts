import { AppError } from "../../kernel/errors.ts";

/**
 * What went wrong with a provider: it could not be reached or broke off, kept silent, lives where we do not go, is too
 * busy, refused our own credential or a field that we had added, does not have the model, failed by its own word,
 * answered what is no answer, or not what another one had begun to.
 */
export type FailureKind =
  | "unreachable"
  | "silent"
  | "forbidden_address"
  | "busy"
  | "credential"
  | "field"
  | "model_missing"
  | "failed"
  | "malformed"
  | "differs";

/** The failure of one provider, which another may make good. Its text for clients names nothing of the inside. */
export class ProviderFailure extends AppError {
  readonly kind: FailureKind;
  /** The HTTP status that it answered, if it did. */
  readonly upstreamStatus: number | undefined;
  /** How long it asked to be left alone, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    options: { message?: string; cause?: unknown; status?: number; retryAfterMs?: number | undefined } = {},
  ) {
    super("provider_error", options.message ?? "The provider could not be reached or broke off.", {
      cause: options.cause,
    });
    this.kind = kind;
    this.upstreamStatus = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}
