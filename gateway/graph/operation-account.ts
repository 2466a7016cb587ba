import type { ExecutionResult, FormattedExecutionResult } from "graphql";
import type { App } from "../../src/app.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { Quota } from "../../src/keys/auth/rate-limit.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";

type Services = Pick<App, "requestAuthenticator" | "keyUse">;

/** Codes of errors that refuse a credential what it asked for. */
const DENIALS: ReadonlySet<unknown> = new Set([
  "missing_authorization",
  "insufficient_scope",
  "access_denied",
  "rate_limit_exceeded",
]);

/** Who sends operations, what those count for, and whether they were of use: the same on every transport. */
export class OperationAccount {
  readonly principal: Principal;
  readonly #services: Services;
  readonly #hop: Hop;
  readonly #tell: (quota: Quota) => void;

  /** `tell` receives what the caller has left whenever something is counted. */
  constructor(services: Services, principal: Principal, hop: Hop, tell: (quota: Quota) => void = () => {}) {
    this.#services = services;
    this.principal = principal;
    this.#hop = hop;
    this.#tell = tell;
  }

  /** Counts requests against the caller's rate limit. Throws `rate_limit_exceeded`. */
  async take(requests: number): Promise<void> {
    if (requests > 0)
      await this.#services.requestAuthenticator.take(
        { principal: this.principal, hop: this.#hop },
        requests,
        this.#tell,
      );
  }

  /** Notes that the credential was of use, if the result of an operation says so. */
  noteResult(result: ExecutionResult | FormattedExecutionResult): void {
    if (isSuccess(result)) this.noteUse();
  }

  /** Notes that the credential was of use. */
  noteUse(): void {
    this.#services.keyUse.record(this.principal, this.#hop);
  }
}

/**
 * Whether an operation succeeded, as a request over REST does that is answered below 400: it was answered, nothing in it
 * was refused to its credential, and where parts of it failed, another root field did not.
 */
function isSuccess({ data, errors = [] }: ExecutionResult | FormattedExecutionResult): boolean {
  if (data === undefined || data === null) return false;
  if (errors.length === 0) return true;
  if (errors.some(({ extensions }) => DENIALS.has(extensions?.code))) return false;
  return Object.values(data).some((value) => value !== null);
}
