import { toStorable } from "./text/storable.ts";

type Failure = {
  readonly status: number;
  readonly type: string;
  /** What the failure means to a client, in one sentence. */
  readonly meaning: string;
  /** Whether the user can correct the failure in a form: GraphQL mutations return it in `userErrors`. */
  readonly isUserError?: true;
};

/**
 * Every failure that a client may see: HTTP status, OpenAI error `type` and meaning by code. Both APIs and every transport use
 * this one table; adding a code changes the contract (SPEC section 7, facts in schema/choices.md).
 */
export const FAILURES = {
  invalid_body: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The body or input is not valid.",
    isUserError: true,
  },
  invalid_parameter: {
    status: 400,
    type: "invalid_request_error",
    meaning: "A parameter is not valid.",
    isUserError: true,
  },
  invalid_cursor: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The cursor was not issued by this service, or belongs to another list.",
  },
  cursor_expired: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The cursor is too old: events after it are no longer stored.",
  },
  graphql_refused: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The GraphQL operation exceeds a limit or is not allowed here.",
  },
  invalid_provider_header: {
    status: 400,
    type: "invalid_request_error",
    meaning: "A provider-routing header is malformed.",
  },
  segment_refused: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The segment does not match its proof or its file.",
    isUserError: true,
  },
  invalid_max_price_usd: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The maximum price is not a decimal of US dollars.",
    isUserError: true,
  },
  no_provider_within_max_price: {
    status: 400,
    type: "invalid_request_error",
    meaning: "Every provider of the model is more expensive than the maximum price.",
    isUserError: true,
  },
  pinned_provider_exceeds_max_price: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The requested provider is more expensive than the maximum price.",
    isUserError: true,
  },
  provider_model_mismatch: {
    status: 400,
    type: "invalid_request_error",
    meaning: "None of the requested providers offers the model.",
    isUserError: true,
  },
  context_length_exceeded: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The prompt is longer than the model's context.",
    isUserError: true,
  },
  previous_response_not_found: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The previous response is not kept, or belongs to another key.",
    isUserError: true,
  },
  content_policy_violation: {
    status: 400,
    type: "invalid_request_error",
    meaning: "The provider refused the content.",
    isUserError: true,
  },
  missing_authorization: {
    status: 401,
    type: "invalid_request_error",
    meaning: "The request has no credential.",
  },
  invalid_api_key: {
    status: 401,
    type: "invalid_request_error",
    meaning: "The credential is unknown or malformed.",
  },
  api_key_revoked: {
    status: 401,
    type: "invalid_request_error",
    meaning: "The key was revoked.",
  },
  api_key_expired: {
    status: 401,
    type: "invalid_request_error",
    meaning: "The key has expired.",
  },
  session_ended: {
    status: 401,
    type: "invalid_request_error",
    meaning: "The wallet session has expired or was ended.",
  },
  sign_in_refused: {
    status: 401,
    type: "invalid_request_error",
    meaning: "The signed sign-in message is not valid.",
  },
  insufficient_balance: {
    status: 402,
    type: "payment_error",
    meaning: "The account's balance does not cover the request.",
    isUserError: true,
  },
  credit_limit_exceeded: {
    status: 402,
    type: "payment_error",
    meaning: "The request exceeds the credit limit of the key, or of the budget of a tag.",
    isUserError: true,
  },
  insufficient_scope: {
    status: 403,
    type: "auth_error",
    meaning: "The credential is of the wrong kind or lacks the required scope.",
  },
  access_denied: {
    status: 403,
    type: "permission_error",
    meaning: "The key's restrictions do not allow the request.",
  },
  guardrail_violated: {
    status: 403,
    type: "permission_error",
    meaning: "A guardrail of the key does not allow the request.",
    isUserError: true,
  },
  not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The object does not exist.",
    isUserError: true,
  },
  api_key_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The account has no `sk-` key with this id.",
    isUserError: true,
  },
  management_key_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The account has no `mk-` key with this id.",
    isUserError: true,
  },
  webhook_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The account has no webhook with this id.",
    isUserError: true,
  },
  batch_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The caller has no batch with this id.",
    isUserError: true,
  },
  tag_budget_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The account has no budget of a tag with this id.",
    isUserError: true,
  },
  receipt_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The request has no receipt.",
    isUserError: true,
  },
  generation_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The caller has no request with this id.",
  },
  async_job_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The caller has no job with this id.",
    isUserError: true,
  },
  model_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "No provider offers the model.",
    isUserError: true,
  },
  contract_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The network has no such contract.",
    isUserError: true,
  },
  provider_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The provider is not registered.",
    isUserError: true,
  },
  file_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The file does not exist.",
    isUserError: true,
  },
  file_path_not_found: {
    status: 404,
    type: "invalid_request_error",
    meaning: "The folder has no file at this path.",
    isUserError: true,
  },
  method_not_allowed: {
    status: 405,
    type: "invalid_request_error",
    meaning: "The HTTP method is not allowed at this path.",
  },
  body_timeout: {
    status: 408,
    type: "invalid_request_error",
    meaning: "The body did not arrive in time.",
  },
  contract_refused: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The contract would revert the call.",
    isUserError: true,
  },
  file_not_finalized: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The file is not completely stored yet.",
    isUserError: true,
  },
  duplicate_name: {
    status: 409,
    type: "invalid_request_error",
    meaning: "An active key of the account already has this name.",
    isUserError: true,
  },
  webhook_limit_reached: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The account already has the maximum number of webhooks.",
    isUserError: true,
  },
  batch_limit_reached: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The account already has the maximum number of unfinished batches.",
    isUserError: true,
  },
  batch_not_cancellable: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The batch has ended, so it cannot be cancelled.",
    isUserError: true,
  },
  duplicate_tag_budget: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The tag already has a budget.",
    isUserError: true,
  },
  tag_budget_limit_reached: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The account already has the maximum number of budgets of tags.",
    isUserError: true,
  },
  async_job_not_pending: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The job is not pending any more, so it cannot be cancelled.",
    isUserError: true,
  },
  receipt_pending: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The receipt is not signed yet.",
    isUserError: true,
  },
  idempotency_in_progress: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The first call with this idempotency key is still running.",
  },
  idempotency_not_replayable: {
    status: 409,
    type: "invalid_request_error",
    meaning: "The first response with this idempotency key cannot be repeated to this credential.",
  },
  key_revoked: {
    status: 410,
    type: "invalid_request_error",
    meaning: "The key was revoked and cannot be changed.",
    isUserError: true,
  },
  file_pruned: {
    status: 410,
    type: "invalid_request_error",
    meaning: "The file was deleted from storage.",
    isUserError: true,
  },
  precondition_failed: {
    status: 412,
    type: "invalid_request_error",
    meaning: "The object is not in the state that the request requires.",
  },
  body_too_large: {
    status: 413,
    type: "invalid_request_error",
    meaning: "The body is too large.",
    isUserError: true,
  },
  file_too_large: {
    status: 413,
    type: "invalid_request_error",
    meaning: "The file is too large.",
    isUserError: true,
  },
  storage_quota_exceeded: {
    status: 413,
    type: "invalid_request_error",
    meaning: "The files of the account use its whole storage quota.",
    isUserError: true,
  },
  unsupported_media_type: {
    status: 415,
    type: "invalid_request_error",
    meaning: "The media type of the body is not supported.",
  },
  range_not_satisfiable: {
    status: 416,
    type: "invalid_request_error",
    meaning: "The range is outside of the file.",
  },
  folder_malformed: {
    status: 422,
    type: "invalid_request_error",
    meaning: "The folder's manifest is malformed.",
  },
  idempotency_key_reused: {
    status: 422,
    type: "invalid_request_error",
    meaning: "The idempotency key belongs to a different call.",
    isUserError: true,
  },
  rate_limit_exceeded: {
    status: 429,
    type: "rate_limit_error",
    meaning: "Too many requests: retry after `retryAfter` seconds.",
  },
  internal_error: {
    status: 500,
    type: "api_error",
    meaning: "Something went wrong on our side.",
  },
  provider_error: {
    status: 502,
    type: "api_error",
    meaning: "The provider failed.",
  },
  evidence_missing: {
    status: 502,
    type: "api_error",
    meaning: "The answer lacks the required proof.",
  },
  storage_unavailable: {
    status: 502,
    type: "api_error",
    meaning: "The storage network cannot be reached.",
  },
  chain_error: {
    status: 502,
    type: "api_error",
    meaning: "The chain's RPC endpoint failed.",
  },
  vault_unavailable: {
    status: 503,
    type: "api_error",
    meaning: "The router's vault cannot be read.",
  },
  no_available_provider: {
    status: 503,
    type: "api_error",
    meaning: "No provider of the model can be tried now.",
  },
  no_provider_for_trust_mode: {
    status: 503,
    type: "api_error",
    meaning: "No provider has the required trust mode.",
  },
  no_provider_with_evidence: {
    status: 503,
    type: "api_error",
    meaning: "No provider recently gave the required proof.",
  },
  unavailable: {
    status: 503,
    type: "api_error",
    meaning: "A part of this service cannot be reached.",
  },
  overloaded: {
    status: 503,
    type: "api_error",
    meaning: "This service is overloaded: retry later.",
  },
  storage_full: {
    status: 507,
    type: "api_error",
    meaning: "The storage is full.",
  },
} as const satisfies Record<string, Failure>;

export type ErrorCode = keyof typeof FAILURES;

/** Why a request or job ended that no client waited for: recorded, and never answered as a failure. */
export const RECORDED_ENDINGS = {
  cancelled: "The job was cancelled before it started.",
  expired: "The request did not end in time, and its hold was released.",
  interrupted: "The worker that sent a request of a batch ended. The request was sent again or abandoned.",
} as const;

/**
 * Codes of requests to the graph that were not run, in the spelling of Apollo Server, which GraphQL clients know. They
 * occur in `extensions.code` only.
 */
export const GRAPHQL_FAILURES = {
  GRAPHQL_PARSE_FAILED: "The document has a syntax error.",
  GRAPHQL_VALIDATION_FAILED: "The document does not match the schema.",
  OPERATION_RESOLUTION_FAILURE:
    "The document has no operation of the name that was sent, or has several and no name was sent.",
  PERSISTED_QUERY_NOT_FOUND:
    "The persisted query or trusted document is not known. Send a persisted query's text with its hash.",
  PERSISTED_QUERY_NOT_SUPPORTED:
    "Persisted queries are not available. Send the text, or the id of a trusted document.",
  BAD_REQUEST: "The request does not follow the GraphQL over HTTP specification.",
} as const;

/** The code of a request to the graph that was not run. */
export type GraphqlCode = keyof typeof GRAPHQL_FAILURES;

/** Whether the user can correct a failure with this code. */
export function isUserError(code: ErrorCode): boolean {
  const failure: Failure = FAILURES[code];
  return failure.isUserError === true;
}

/** How much of a field's name an error repeats: a client may have sent a name of megabytes. */
const MAX_PARAM_LENGTH = 256;

/**
 * An expected failure with a code. Any other thrown error is a bug: every API logs it and returns `internal_error`,
 * without its text.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  /** The invalid field of the request, as OpenAI's `error.param`. A long name is cut, here and in the message. */
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
    const param = options?.param;
    const isLong = param !== undefined && param.length > MAX_PARAM_LENGTH;
    const shown = isLong ? `${toStorable(param, MAX_PARAM_LENGTH)}...` : param;
    super(isLong ? message.replaceAll(param, () => shown ?? "") : message, options);
    this.code = code;
    this.param = shown ?? null;
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

/** A failure whose cause is logged where it was detected: the requests that it fails are not logged. */
export class LoggedError extends AppError {}

/** Why the product cannot start: one line for the operator that names the invalid setting. Printed without a stack. */
export class StartupError extends Error {
  override readonly name = "StartupError";
}
