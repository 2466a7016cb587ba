import { z } from "zod";
import { ERROR_BODY, type ErrorBody } from "./error-body.ts";

const TYPES = [
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "timeout_error",
  "api_error",
  "overloaded_error",
] as const;
type Type = (typeof TYPES)[number];

const DETAILS = z.strictObject({
  error_code: z.literal("thread_unsupported_request"),
  unsupported: z.array(z.string()),
});

/** The body of every failure of the Messages endpoints, in Anthropic's shape (promises P11). */
export const ANTHROPIC_ERROR = z
  .strictObject({
    type: z.literal("error"),
    error: z.strictObject({
      type: z.enum(TYPES),
      message: z.string(),
      code: ERROR_BODY.shape.error.shape.code.meta({
        description: "The same code as on the other endpoints; not part of Anthropic's API.",
      }),
      details: DETAILS.optional().meta({
        description: "Only for a request with a `thread`: clients then send all messages instead.",
      }),
    }),
    request_id: z.string(),
  })
  .meta({ id: "AnthropicError" });

/** The member of an error by which Anthropic's SDK sends the request again without a thread (its `ThreadState`). */
const NO_THREADS: z.output<typeof DETAILS> = {
  error_code: "thread_unsupported_request",
  unsupported: ["thread"],
};
const OVERLOADED = 529;
const BY_STATUS: Readonly<Record<number, Type>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
};

/**
 * The same failure in the format of Anthropic's API: the type follows from the status, and 529 means that no provider
 * is available.
 */
export function toAnthropicError(
  status: number,
  { error, request_id }: ErrorBody,
): { readonly status: number; readonly body: z.output<typeof ANTHROPIC_ERROR> } {
  const isOverloaded = error.code === "no_available_provider";
  const general = status >= 500 ? "api_error" : "invalid_request_error";
  const type = isOverloaded ? "overloaded_error" : (BY_STATUS[status] ?? general);
  const { message, code, param } = error;
  const isThread = code === "invalid_body" && param === "thread";
  return {
    status: isOverloaded ? OVERLOADED : status,
    body: {
      type: "error",
      error: { type, message, code, ...(isThread && { details: NO_THREADS }) },
      request_id,
    },
  };
}
