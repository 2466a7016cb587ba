import { AppError } from "../../../kernel/errors.ts";

/**
 * The kind of a provider's failure, in this order: it was unreachable or closed the connection, timed out, has a
 * forbidden address, is busy, rejected our credential or a field that we added, does not have the model, reported an
 * error, sent an invalid answer, or an answer different from the one that another provider had begun.
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

/** The failure of one provider, after which another may be tried. Its client-facing text reveals no internals. */
export class ProviderFailure extends AppError {
  readonly kind: FailureKind;
  /** The HTTP status of its answer, if any. */
  readonly upstreamStatus: number | undefined;
  /** The delay that it requested, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    options: { message?: string; cause?: unknown; status?: number; retryAfterMs?: number | undefined } = {},
  ) {
    super(
      "provider_error",
      options.message ?? "The provider could not be reached or closed the connection.",
      {
        cause: options.cause,
      },
    );
    this.kind = kind;
    this.upstreamStatus = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Whether the router had no credential for the provider, as while the chain cannot be read: nothing was sent. */
  get lacksCredential(): boolean {
    return this.kind === "credential" && this.upstreamStatus === undefined;
  }
}

/** The failure of an exchange that took the whole time of its request. */
export class DeadlineExceeded extends ProviderFailure {
  constructor() {
    super("silent", { cause: new Error("the provider took too long") });
  }
}

/** The failure of a provider that sent an invalid answer. */
export function malformed(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message, cause });
}

/** A provider's answer that the request itself is at fault. It is shown to the client, and no other provider is tried. */
export class ProviderRefusal extends AppError {
  readonly reason: string;

  /** `param` is the field that the provider names, of the body that it received. */
  constructor(reason: string, param: string | undefined) {
    super("invalid_body", `The provider rejected the request: ${reason}`, {
      ...(param !== undefined && { param }),
    });
    this.reason = reason;
  }
}
