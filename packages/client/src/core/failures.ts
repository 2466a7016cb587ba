import {
  ConnectionLost,
  CredentialFailure,
  type GraphError,
  OperationRefused,
  ZerographError,
} from "./errors.ts";

/** Why a request or a connection failed, and whether another attempt can succeed. */
export type Failure = {
  /** A `ZerographError`, or what the caller's own `credential` function threw. */
  readonly error: Error;
  readonly canRetry: boolean;
  /** How long the server asks to wait, milliseconds. */
  readonly retryAfterMs?: number;
};

/** Codes of failures that pass. Any other code stays the same however often the operation is sent. */
const PASSING: ReadonlySet<string> = new Set([
  "unavailable",
  "overloaded",
  "internal_error",
  "rate_limit_exceeded",
  "chain_error",
  "body_timeout",
]);
const CURSOR_CODES: ReadonlySet<string> = new Set(["cursor_expired", "invalid_cursor"]);
/** Closes of graphql-transport-ws that name a mistake of the client: bad message, unauthorized, forbidden, and so on. */
const FINAL_CLOSES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1009, 4400, 4401, 4403, 4406, 4409]);
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether the server refused a cursor: events after it are gone, or it is of another deployment. */
export function isCursorFailure(error: Error): error is ZerographError {
  return error instanceof ZerographError && CURSOR_CODES.has(error.code);
}

/** A refusal by errors of a result without data. */
export function failureOfErrors(errors: readonly GraphError[], status?: number): Failure {
  const [first] = errors;
  const code = String(first?.extensions?.code ?? "graphql_refused");
  const message = first?.message ?? "The server refused the operation without a reason.";
  const canRetry = arePassing(errors);
  const details = { errors, ...(status !== undefined && { status }) };
  const error = canRetry
    ? new ConnectionLost(code, message, details)
    : new OperationRefused(code, message, details);
  return { error, canRetry };
}

/** A response with a status other than 2xx; `body` is its text, in the form of GraphQL, of the REST API or of storage. */
export function failureOfStatus(status: number, body: string, retryAfter?: string | null): Failure {
  const errors = errorsIn(body);
  const canRetry = status >= 500 || PASSING_STATUSES.has(status) || arePassing(errors);
  const code = errors[0]?.extensions?.code ?? codeOfStatus(status, canRetry);
  const message = errors[0]?.message ?? `The server answered with status ${status}.`;
  const error = new (canRetry ? ConnectionLost : OperationRefused)(code, message, { errors, status });
  const seconds = Number(retryAfter ?? Number.NaN);
  return { error, canRetry, ...(seconds >= 0 && { retryAfterMs: seconds * 1_000 }) };
}

/** A closed socket. Its reason is a text, or the code of a refusal and its text (`invalid_api_key: ...`). */
export function failureOfClose(code: number, reason: string): Failure {
  const canRetry = !FINAL_CLOSES.has(code);
  const [, named, text] = /^([a-z_]+): (.+)$/s.exec(reason) ?? [];
  const message = (text ?? reason) || `The server closed the socket with code ${code}.`;
  const refusal = named ?? (isAuthClose(code) ? "access_refused" : "operation_refused");
  const error = canRetry
    ? new ConnectionLost("connection_lost", message, { status: code })
    : new OperationRefused(refusal, message, { status: code });
  return { error, canRetry };
}

/** A response with a status of success that is no answer of the graph. */
export function failureOfAnswer(body: string, contentType: string): Failure {
  const errors = errorsIn(body);
  if (errors.length > 0) return failureOfErrors(errors);
  const message = `The server did not answer with ${contentType}.`;
  return { error: new OperationRefused("invalid_answer", message), canRetry: false };
}

/** A connection that broke, or could not be opened. An error of this package or of the caller stays what it is. */
export function failureOfNetwork(cause: unknown): Failure {
  if (cause instanceof CredentialFailure) return { error: cause.cause, canRetry: false };
  if (cause instanceof ZerographError) return { error: cause, canRetry: false };
  const error = new ConnectionLost("connection_lost", "The connection to the server was lost.", { cause });
  return { error, canRetry: true };
}

function codeOfStatus(status: number, canRetry: boolean): string {
  if (canRetry) return "unavailable";
  return status === 404 ? "not_found" : "operation_refused";
}

function arePassing(errors: readonly GraphError[]): boolean {
  return errors.length > 0 && errors.every(({ extensions }) => PASSING.has(extensions?.code ?? ""));
}

function isAuthClose(code: number): boolean {
  return code === 4401 || code === 4403;
}

function errorsIn(body: string): readonly GraphError[] {
  try {
    const { errors, error, message, data } = JSON.parse(body) as {
      readonly errors?: readonly GraphError[];
      readonly error?: { readonly message?: string; readonly code?: string };
      /** Of the storage network's envelope: `message` is the kind of failure, `data` the reason if there is one. */
      readonly message?: unknown;
      readonly data?: unknown;
    };
    if (Array.isArray(errors)) return errors;
    if (error?.message) return [{ message: error.message, extensions: { code: String(error.code) } }];
    if (typeof message === "string" && message !== "")
      return [{ message: typeof data === "string" && data !== "" ? data : message }];
  } catch {
    // Not ours: a proxy's page.
  }
  return [];
}
