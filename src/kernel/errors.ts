/**
 * Every failure that a client may see: HTTP status and OpenAI error `type` by code. Both APIs and every transport use
 * this one table; adding a code changes the contract (SPEC section 7, facts in schema/choices.md).
 */
export const FAILURES = {
  invalid_body: { status: 400, type: "invalid_request_error" },
  invalid_parameter: { status: 400, type: "invalid_request_error" },
  invalid_cursor: { status: 400, type: "invalid_request_error" },
  cursor_expired: { status: 400, type: "invalid_request_error" },
  graphql_refused: { status: 400, type: "invalid_request_error" },
  invalid_provider_header: { status: 400, type: "invalid_request_error" },
  segment_refused: { status: 400, type: "invalid_request_error" },
  invalid_max_price_usd: { status: 400, type: "invalid_request_error" },
  no_provider_within_max_price: { status: 400, type: "invalid_request_error" },
  pinned_provider_exceeds_max_price: { status: 400, type: "invalid_request_error" },
  provider_model_mismatch: { status: 400, type: "invalid_request_error" },
  context_length_exceeded: { status: 400, type: "invalid_request_error" },
  content_policy_violation: { status: 400, type: "invalid_request_error" },
  missing_authorization: { status: 401, type: "invalid_request_error" },
  invalid_api_key: { status: 401, type: "invalid_request_error" },
  api_key_revoked: { status: 401, type: "invalid_request_error" },
  api_key_expired: { status: 401, type: "invalid_request_error" },
  session_ended: { status: 401, type: "invalid_request_error" },
  sign_in_refused: { status: 401, type: "invalid_request_error" },
  insufficient_balance: { status: 402, type: "payment_error" },
  credit_limit_exceeded: { status: 402, type: "payment_error" },
  insufficient_scope: { status: 403, type: "auth_error" },
  access_denied: { status: 403, type: "permission_error" },
  not_found: { status: 404, type: "invalid_request_error" },
  api_key_not_found: { status: 404, type: "invalid_request_error" },
  management_key_not_found: { status: 404, type: "invalid_request_error" },
  receipt_not_found: { status: 404, type: "invalid_request_error" },
  async_job_not_found: { status: 404, type: "invalid_request_error" },
  model_not_found: { status: 404, type: "invalid_request_error" },
  contract_not_found: { status: 404, type: "invalid_request_error" },
  provider_not_found: { status: 404, type: "invalid_request_error" },
  file_not_found: { status: 404, type: "invalid_request_error" },
  file_path_not_found: { status: 404, type: "invalid_request_error" },
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  body_timeout: { status: 408, type: "invalid_request_error" },
  contract_refused: { status: 409, type: "invalid_request_error" },
  file_not_finalized: { status: 409, type: "invalid_request_error" },
  duplicate_name: { status: 409, type: "invalid_request_error" },
  async_job_not_pending: { status: 409, type: "invalid_request_error" },
  receipt_pending: { status: 409, type: "invalid_request_error" },
  idempotency_in_progress: { status: 409, type: "invalid_request_error" },
  idempotency_not_replayable: { status: 409, type: "invalid_request_error" },
  key_revoked: { status: 410, type: "invalid_request_error" },
  file_pruned: { status: 410, type: "invalid_request_error" },
  precondition_failed: { status: 412, type: "invalid_request_error" },
  body_too_large: { status: 413, type: "invalid_request_error" },
  file_too_large: { status: 413, type: "invalid_request_error" },
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  range_not_satisfiable: { status: 416, type: "invalid_request_error" },
  folder_malformed: { status: 422, type: "invalid_request_error" },
  idempotency_key_reused: { status: 422, type: "invalid_request_error" },
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  internal_error: { status: 500, type: "api_error" },
  provider_error: { status: 502, type: "api_error" },
  evidence_missing: { status: 502, type: "api_error" },
  storage_unavailable: { status: 502, type: "api_error" },
  chain_error: { status: 502, type: "api_error" },
  vault_unavailable: { status: 503, type: "api_error" },
  no_available_provider: { status: 503, type: "api_error" },
  no_provider_for_trust_mode: { status: 503, type: "api_error" },
  no_provider_with_evidence: { status: 503, type: "api_error" },
  unavailable: { status: 503, type: "api_error" },
  overloaded: { status: 503, type: "api_error" },
  storage_full: { status: 507, type: "api_error" },
} as const satisfies Record<string, { status: number; type: string }>;

export type ErrorCode = keyof typeof FAILURES;

/**
 * An expected failure with a code. Any other thrown error is a bug: every API logs it and returns `internal_error`,
 * without its text.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  /** The invalid field of the request, as OpenAI's `error.param`. */
  readonly param: string | null;
  /** When a retry makes sense, if known. */
  readonly retryAfterSeconds: number | undefined;
  /** Headers of the HTTP response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the ledger shows that the request was not charged: then a retry cannot bill twice. */
  isUncharged = false;

  constructor(
    code: ErrorCode,
    message: string,
    options?: {
      cause?: unknown;
      param?: string;
      retryAfterSeconds?: number;
      headers?: Readonly<Record<string, string>>;
    },
  ) {
    super(message, options);
    this.code = code;
    this.param = options?.param ?? null;
    this.retryAfterSeconds = options?.retryAfterSeconds;
    this.headers = options?.headers ?? {};
  }

  /** The HTTP status of this failure. */
  get status(): number {
    return FAILURES[this.code].status;
  }
}

/** The client disconnected before its response: work for it stops, and this failure is never sent. */
export class ClientLeftError extends AppError {
  constructor() {
    super("unavailable", "The client disconnected before its response.");
  }
}

/** Why the product cannot start: one line for the operator that names the invalid setting. Printed without a stack. */
export class StartupError extends Error {
  override readonly name = "StartupError";
}
