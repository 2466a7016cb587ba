import { type AppError, FAILURES } from "../../kernel/errors.ts";

/** A failure as the client of a stream sees it. */
export type StreamError = {
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
};

/** The failure of a stream that broke. */
export const INTERRUPTED: StreamError = {
  type: "api_error",
  code: "upstream_error",
  message: "The provider's response was interrupted.",
  param: null,
};

/** A failure of ours. */
export function streamErrorOf({ message, code, param }: AppError): StreamError {
  return { type: FAILURES[code].type, code, message, param };
}

/** The members of the event `error`, for which OpenAI's clients throw. */
export function errorMembers(error: StreamError) {
  const { code, message, param } = error;
  return { type: "error", code, message, param, error };
}
