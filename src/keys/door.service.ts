import type { BlockList } from "node:net";
import { AppError } from "../kernel/errors.ts";
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

type Needs = {
  readonly authenticator: AuthenticateService;
  readonly limits: RateLimits;
  readonly trusted: BlockList;
};

/** A request at the door. */
export type Visit = {
  readonly authorization: string | undefined;
  readonly hop: Hop;
  /** Whether an admission judges the key anew, so that a key may be known from memory. */
  readonly isAdmitted?: boolean;
};

/** Every request passes here, on every face: who sends it, and whether that was too often. */
export class DoorService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Who sends the request; `tell` is told what they have left before anything is thrown. Throws what `authenticate`
   * throws, and `rate_limit_exceeded`. Too many wrong credentials of an address are refused as too many; a valid one
   * never is for them, as one address may be that of many clients.
   */
  async enter(visit: Visit, tell: (quota: Quota) => void = () => {}): Promise<Principal> {
    const { authorization, isAdmitted = false } = visit;
    if (authorization === undefined) return this.enterPublic(visit.hop, tell);
    const { authenticator, limits } = this.#needs;
    let principal: Principal;
    try {
      principal = await authenticator.authenticate(authorization, { isAdmitted });
    } catch (error) {
      if (error instanceof AppError && error.status === 401) await this.#countFailure(visit.hop, tell);
      throw error;
    }
    if (limits.perKey) judge(await limits.perKey.take(subjectOf(principal)), tell);
    return principal;
  }

  /** Lets anyone in whose address did not ask too often, without a look at their credential. */
  async enterPublic(hop: Hop, tell: (quota: Quota) => void = () => {}): Promise<Principal> {
    const { perAddress } = this.#needs.limits;
    if (perAddress) judge(await perAddress.take(this.#networkOf(hop)), tell);
    return ANONYMOUS;
  }

  async #countFailure(hop: Hop, tell: (quota: Quota) => void): Promise<void> {
    const { failures } = this.#needs.limits;
    if (!failures) return;
    const quota = await failures.take(this.#networkOf(hop));
    if (quota.isOver) judge(quota, tell);
  }

  #networkOf(hop: Hop): string {
    return networkOf(sourceAddress(hop, this.#needs.trusted) ?? "");
  }
}

function subjectOf(principal: Principal): string {
  switch (principal.kind) {
    case "anonymous":
      return "anonymous";
    case "wallet-session":
      return principal.sessionId;
    default:
      return principal.keyId;
  }
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
