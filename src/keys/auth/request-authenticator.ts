import type { BlockList } from "node:net";
import { AppError } from "../../kernel/errors.ts";
import type { AuthenticateService } from "./authenticate.service.ts";
import { ANONYMOUS, type Principal } from "./principal.ts";
import type { Quota, RateLimit } from "./rate-limit.ts";
import { type Hop, networkOf, sourceAddress } from "./source-address.ts";

/** A limit that is undefined is none. */
export type RateLimits = {
  /** Requests of one key or session. */
  readonly perKey: RateLimit | undefined;
  /** Requests from one address that show no credential. */
  readonly perAddress: RateLimit | undefined;
  /** Requests from one address with a credential that is not valid. */
  readonly failures: RateLimit | undefined;
};

type Dependencies = {
  readonly authenticator: AuthenticateService;
  readonly limits: RateLimits;
  readonly trusted: BlockList;
};

/** A request at the door. */
export type AuthRequest = {
  readonly authorization: string | undefined;
  readonly hop: Hop;
  /** Whether an admission judges the key anew, so that a key may be known from memory. */
  readonly isAdmitted?: boolean;
};

/** Who is counted: by the credential, or without one by the address that the request came from. */
export type RateLimited = { readonly principal: Principal; readonly hop: Hop };

/** Every request passes here, on every face: who sends it, and whether that was too often. */
export class RequestAuthenticator {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Who sends the request, which counts as one; `tell` receives what they have left before anything is thrown. Throws
   * what `identify` and `take` throw.
   */
  async authenticate(request: AuthRequest, tell: (quota: Quota) => void = () => {}): Promise<Principal> {
    const principal = await this.identify(request, tell);
    await this.take({ principal, hop: request.hop }, 1, tell);
    return principal;
  }

  /**
   * Who sends the request, without counting it. Throws what `authenticate` throws. Too many wrong credentials of an
   * address are refused as `rate_limit_exceeded`; a valid one never is for them, as one address may be that of many
   * clients.
   */
  async identify(request: AuthRequest, tell: (quota: Quota) => void = () => {}): Promise<Principal> {
    const { authorization, isAdmitted = false } = request;
    if (authorization === undefined) return ANONYMOUS;
    try {
      return await this.#dependencies.authenticator.authenticate(authorization, { isAdmitted });
    } catch (error) {
      if (error instanceof AppError && error.status === 401) await this.#countFailure(request.hop, tell);
      throw error;
    }
  }

  /**
   * Counts requests against the limit of the caller's credential, or of their address without one, in one step however
   * many they are. Call it for every unit of work that a request carries beyond its first: operations of a socket, root
   * fields of a mutation, calls of a batch. Throws `rate_limit_exceeded` when they were not left; they count anyway.
   */
  async take(
    { principal, hop }: RateLimited,
    requests: number,
    tell: (quota: Quota) => void = () => {},
  ): Promise<void> {
    const { perKey, perAddress } = this.#dependencies.limits;
    const isAnonymous = principal.kind === "anonymous";
    const limit = isAnonymous ? perAddress : perKey;
    if (!limit || requests <= 0) return;
    judge(await limit.take(isAnonymous ? this.#networkOf(hop) : subjectOf(principal), requests), tell);
  }

  async #countFailure(hop: Hop, tell: (quota: Quota) => void): Promise<void> {
    const { failures } = this.#dependencies.limits;
    if (!failures) return;
    const quota = await failures.take(this.#networkOf(hop));
    if (quota.isOver) judge(quota, tell);
  }

  #networkOf(hop: Hop): string {
    return networkOf(sourceAddress(hop, this.#dependencies.trusted) ?? "");
  }
}

function subjectOf(principal: Exclude<Principal, { kind: "anonymous" }>): string {
  return principal.kind === "wallet-session" ? principal.sessionId : principal.keyId;
}

function judge(quota: Quota, tell: (quota: Quota) => void): void {
  tell(quota);
  if (quota.isOver) throw tooOften(quota.resetAt);
}

function tooOften(resetAt: Date): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1_000));
  return new AppError("rate_limit_exceeded", `Too many requests. Try again in ${retryAfterSeconds} s.`, {
    retryAfterSeconds,
  });
}
