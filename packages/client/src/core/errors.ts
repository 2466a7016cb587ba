/** An error of a GraphQL result, as the server sends it. */
export type GraphError = {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string; readonly [name: string]: unknown };
};

type Details = {
  readonly cause?: unknown;
  readonly errors?: readonly GraphError[];
  readonly status?: number;
};

/** Every error that this package throws. `code` is the server's (`insufficient_scope`), or one of this package. */
export class ZerographError extends Error {
  override readonly name: string = "ZerographError";
  readonly code: string;
  /** The server's errors, if it sent any. */
  readonly errors: readonly GraphError[];
  /** The HTTP status or the code of the closed socket, if there was one. */
  readonly status: number | undefined;

  constructor(code: string, message: string, { cause, errors = [], status }: Details = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.errors = errors;
    this.status = status;
  }
}

/** The server refused the operation; sending it again would not help: a wrong credential, an invalid document. */
export class OperationRefused extends ZerographError {
  override readonly name = "OperationRefused";
  /** The data that the server returned with its errors. */
  readonly data: unknown;

  constructor(code: string, message: string, details: Details & { readonly data?: unknown } = {}) {
    super(code, message, details);
    this.data = details.data;
  }
}

/** What the caller's own `credential` function threw, on its way back to the caller. It is never retried. */
export class CredentialFailure extends Error {
  declare readonly cause: Error;
}

/** The server could not be reached, or failed, for longer than is waited. `code` is `connection_lost`, or the server's. */
export class ConnectionLost extends ZerographError {
  override readonly name = "ConnectionLost";
}

/**
 * Events may have been missed, so the subscription ended instead of continuing with a gap: the cursor is too old or
 * unknown to the server (`cursor_expired`, `invalid_cursor`), or the subscription cannot resume (`not_resumable`).
 * Query the present state again, then subscribe from there.
 */
export class EventsLost extends ZerographError {
  override readonly name = "EventsLost";
  /** The cursor after which events may be missing. Null if there was none. */
  readonly cursor: string | null;

  constructor(code: string, message: string, details: Details & { readonly cursor: string | null }) {
    super(code, message, details);
    this.cursor = details.cursor;
  }
}
