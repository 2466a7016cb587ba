import { z } from "zod";
import { AppError, type ErrorCode, FAILURES } from "../../kernel/errors.ts";
import { unstorableOf } from "../../kernel/unstorable-text.ts";

const codes = Object.keys(FAILURES) as ErrorCode[];
const types = [...new Set(codes.map((code) => FAILURES[code].type))];

/** The body of every failure under /v1, in OpenAI's shape (facts 1.5). */
export const ERROR_BODY = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.enum(types),
      code: z.enum(codes),
      param: z
        .string()
        .nullable()
        .meta({ description: "The field that caused the error; null if none did." }),
    }),
    request_id: z.string(),
  })
  .meta({ id: "ErrorBody" });

/** The body of a failure. */
export type ErrorBody = z.output<typeof ERROR_BODY>;

/** Failures for which the same request may always be retried; see `isRetryable` for the others. */
const RETRYABLE: ReadonlySet<string> = new Set([
  "no_available_provider",
  "unavailable",
  "overloaded",
  "vault_unavailable",
  "idempotency_in_progress",
  "receipt_pending",
  "rate_limit_exceeded",
]);

/** The `WWW-Authenticate` challenge of every 401 (RFC 6750); undefined for other failures. */
function challengeOf({ code, status }: AppError): string | undefined {
  if (status !== 401) return undefined;
  const hasToken = code !== "missing_authorization" && code !== "sign_in_refused";
  return `Bearer realm="zerograph"${hasToken ? ', error="invalid_token"' : ""}`;
}

/** Whether a retry may succeed and cannot be billed twice. */
function isRetryable({ code, isUncharged }: AppError): boolean {
  return RETRYABLE.has(code) || (code === "provider_error" && isUncharged);
}

/** Turns any thrown value into the error response. Only the text of an `AppError` is sent. */
export function toErrorAnswer(
  error: unknown,
  requestId: string,
): { status: number; headers: Readonly<Record<string, string>>; body: ErrorBody } {
  const known = toAppError(error);
  const { status, type } = FAILURES[known.code];
  return {
    status,
    headers: { ...known.headers, ...failureHeaders(known) },
    body: {
      error: { message: known.message, type, code: known.code, param: known.param },
      request_id: requestId,
    },
  };
}

/** The headers of a failure on every API: how to authenticate, and whether and when to retry. */
export function failureHeaders(failure: AppError): Readonly<Record<string, string>> {
  const challenge = challengeOf(failure);
  const mayRetry = isRetryable(failure);
  return {
    ...(challenge !== undefined && { "www-authenticate": challenge }),
    "x-should-retry": String(mayRetry),
    ...(mayRetry && { "retry-after": String(failure.retryAfterSeconds ?? 1) }),
  };
}

/** The `AppError` for an error: the error itself, one of Fastify's, or `internal_error`. */
export function toAppError(thrown: unknown): AppError {
  const error = unstorableOf(thrown);
  if (error instanceof AppError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return new AppError("body_too_large", "The body is too large.");
  // A path of static files that leaves their folder.
  if (code === "FST_STATIC_FORBIDDEN_PATH") return new AppError("not_found", "There is no such path.");
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE")
    return new AppError("unsupported_media_type", "Send the body as application/json.", {
      param: "Content-Type",
    });
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH" || code === "FST_ERR_CTP_EMPTY_JSON_BODY")
    return new AppError("invalid_body", "The body does not match its Content-Length.");
  if (code === "FST_ERR_VALIDATION" || code === "FST_ERR_CTP_INVALID_JSON_BODY")
    return new AppError("invalid_body", "The body is not valid for this path.", { cause: error });
  if (code.startsWith("ECONN") || code === "57P03" || code === "57P01")
    return new AppError("unavailable", "A part of this service is temporarily unreachable.", {
      cause: error,
    });
  return new AppError("internal_error", "Something went wrong on our side.", { cause: error });
}
