import type { BlockList } from "node:net";
import { resumeInTurn } from "../../kernel/async/shared-turns.ts";
import { AppError } from "../../kernel/errors.ts";
import type { AuthenticateService } from "./authenticate.service.ts";
import { ANONYMOUS, type Principal } from "./principal.ts";
import type { Quota, RateLimit } from "./rate-limit.ts";
import { type Hop, networkOf, sourceAddress } from "./source-address.ts";

/** Undefined for no limit. */
export type RateLimits = {
  /** Requests per key or session. */
  readonly perKey: RateLimit | undefined;
  /** Requests per address without a credential. */
  readonly perAddress: RateLimit | undefined;
  /** Requests per address with an invalid credential. */
  readonly failures: RateLimit | undefined;
};

type Dependencies = {
  readonly authenticator: AuthenticateService;
  readonly limits: RateLimits;
  readonly trusted: BlockList;
};

/** A request to authenticate. */
export type AuthRequest = {
  readonly authorization: string | undefined;
  readonly hop: Hop;
  /** Whether an admission checks the key again, so that it may come from the cache. */
  readonly isAdmitted?: boolean;
};

/** The subject of a rate limit: the credential, or without one the source address. */
export type RateLimited = { readonly principal: Principal; readonly hop: Hop };

/** Authenticates and rate-limits every request of every API. */
export class RequestAuthenticator {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Authenticates a request and counts it; `onQuota` receives the remaining quota before anything is thrown. Throws
   * what `identify` and `take` throw.
   */
  async authenticate(request: AuthRequest, onQuota: (quota: Quota) => void = () => {}): Promise<Principal> {
    const principal = await this.identify(request, onQuota);
    await this.take({ principal, hop: request.hop }, 1, onQuota);
    return principal;
  }

  /**
   * Authenticates a request without counting it. Throws what `AuthenticateService.authenticate` throws. Too many
   * invalid credentials from one address get `rate_limit_exceeded`; a valid one never does because of them, as many
   * clients may share one address.
   */
  async identify(request: AuthRequest, onQuota: (quota: Quota) => void = () => {}): Promise<Principal> {
    const { authorization, isAdmitted = false } = request;
    if (authorization === undefined) return ANONYMOUS;
    try {
      // Thousands of requests may wait for one statement, or for a database that is back.
      return await resumeInTurn(this.#dependencies.authenticator.authenticate(authorization, { isAdmitted }));
    } catch (error) {
      if (error instanceof AppError && error.status === 401) await this.#countFailure(request.hop, onQuota);
      throw error;
    }
  }

  /**
   * Counts requests against the limit of the caller's credential, or of the address without one, in one step. Call it
   * for every unit of work that a request carries beyond its first: operations of a socket, root fields of a mutation,
   * calls of a batch. Throws `rate_limit_exceeded` if they exceed the limit; they are counted anyway.
   */
  async take(
    { principal, hop }: RateLimited,
    requests: number,
    onQuota: (quota: Quota) => void = () => {},
  ): Promise<void> {
    const { perKey, perAddress } = this.#dependencies.limits;
    const isAnonymous = principal.kind === "anonymous";
    const limit = isAnonymous ? perAddress : perKey;
    if (!limit || requests <= 0) return;
    const subject = isAnonymous ? this.#networkOf(hop) : subjectOf(principal);
    // Where Redis hangs, all requests that wait for it go on at the same moment.
    enforce(await resumeInTurn(limit.take(subject, requests)), onQuota);
  }

  async #countFailure(hop: Hop, onQuota: (quota: Quota) => void): Promise<void> {
    const { failures } = this.#dependencies.limits;
    if (!failures) return;
    const quota = await resumeInTurn(failures.take(this.#networkOf(hop)));
    if (quota.isOver) enforce(quota, onQuota);
  }

  #networkOf(hop: Hop): string {
    return networkOf(sourceAddress(hop, this.#dependencies.trusted) ?? "");
  }
}

function subjectOf(principal: Exclude<Principal, { kind: "anonymous" }>): string {
  return principal.kind === "wallet-session" ? principal.sessionId : principal.keyId;
}

function enforce(quota: Quota, onQuota: (quota: Quota) => void): void {
  onQuota(quota);
  if (quota.isOver) throw tooOften(quota.resetInMs);
}

function tooOften(resetInMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(resetInMs / 1_000));
  return new AppError("rate_limit_exceeded", `Too many requests. Try again in ${retryAfterSeconds} s.`, {
    retryAfterSeconds,
  });
}
