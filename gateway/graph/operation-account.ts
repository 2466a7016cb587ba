import type { ExecutionResult, FormattedExecutionResult } from "graphql";
import type { App } from "../../src/app.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { Quota } from "../../src/keys/auth/rate-limit.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";

type Services = Pick<App, "requestAuthenticator" | "keyUse">;

/** Error codes that deny a credential access to a resource. */
const DENIALS: ReadonlySet<unknown> = new Set([
  "missing_authorization",
  "insufficient_scope",
  "access_denied",
  "rate_limit_exceeded",
]);

/** The caller of operations: its rate limit, and the use of its credential. Shared by every transport. */
export class OperationAccount {
  readonly principal: Principal;
  readonly #services: Services;
  readonly #hop: Hop;
  readonly #reportQuota: (quota: Quota) => void;
  #hasTakenOperation = false;

  /** `reportQuota` receives the caller's remaining quota whenever something is counted. */
  constructor(
    services: Services,
    principal: Principal,
    hop: Hop,
    reportQuota: (quota: Quota) => void = () => {},
  ) {
    this.#services = services;
    this.principal = principal;
    this.#hop = hop;
    this.#reportQuota = reportQuota;
  }

  /** Counts requests against the caller's rate limit. Throws `rate_limit_exceeded`. */
  async take(requests: number): Promise<void> {
    if (requests > 0)
      await this.#services.requestAuthenticator.take(
        { principal: this.principal, hop: this.#hop },
        requests,
        this.#reportQuota,
      );
  }

  /**
   * Counts what the only operation of an HTTP request is counted beyond that request: once, although Apollo Server runs
   * it again if the fast path cannot answer it. Throws `rate_limit_exceeded`.
   */
  async takeOperation(requests: number): Promise<void> {
    if (this.#hasTakenOperation) return;
    this.#hasTakenOperation = true;
    await this.take(requests - 1);
  }

  /** Records a use of the credential if the result counts as a success. */
  noteResult(result: ExecutionResult | FormattedExecutionResult): void {
    if (isSuccess(result)) this.noteUse();
  }

  /** Records a use of the credential. */
  noteUse(): void {
    this.#services.keyUse.record(this.principal, this.#hop);
  }
}

/**
 * Whether an operation succeeded, comparable to a REST status below 400: it returned data, no error denies access to
 * the credential, and if parts failed, at least one root field did not.
 */
function isSuccess({ data, errors = [] }: ExecutionResult | FormattedExecutionResult): boolean {
  if (data === undefined || data === null) return false;
  if (errors.length === 0) return true;
  if (errors.some(({ extensions }) => DENIALS.has(extensions?.code))) return false;
  return Object.values(data).some((value) => value !== null);
}
