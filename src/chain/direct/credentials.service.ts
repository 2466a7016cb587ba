import { randomBytes } from "node:crypto";
import type { PublicClient } from "viem";
import type { LocalAccount } from "viem/accounts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { inferenceServingAbi } from "../abi/inference-serving.ts";
import { createAppSecret } from "./app-secret.ts";

type Dependencies = {
  readonly client: PublicClient;
  readonly registry: Hex;
  readonly wallet: LocalAccount;
  readonly clock: Clock;
};

const LIFETIME_MS = 23 * 3_600_000;
const RENEW_MS = 3_600_000;
const EPHEMERAL = 255;

/**
 * The router's own `app-sk-` credentials for providers: ephemeral tokens signed by its wallet, cached for their
 * lifetime of 23 h and renewed an hour before they expire (SPEC 5.7, facts 2.1).
 */
export class CredentialsService {
  readonly #dependencies: Dependencies;
  readonly #cache = new Map<string, { secret: Promise<string>; renewAt: number }>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The bearer token for this provider. Throws `no_available_provider` if the chain read fails; that is not cached. */
  secretFor(provider: Hex): Promise<string> {
    const now = this.#dependencies.clock.now().getTime();
    const cached = this.#cache.get(provider);
    if (cached && now < cached.renewAt) return cached.secret;
    const secret = this.#sign(provider, now);
    this.#cache.set(provider, { secret, renewAt: now + LIFETIME_MS - RENEW_MS });
    secret.catch(() => this.forget(provider));
    return secret;
  }

  /** Drops a credential that a provider rejected: its generation may have increased on the chain. */
  forget(provider: Hex): void {
    this.#cache.delete(provider);
  }

  async #sign(provider: Hex, now: number): Promise<string> {
    const { client, registry, wallet } = this.#dependencies;
    const account = await client
      .readContract({
        address: registry,
        abi: inferenceServingAbi,
        functionName: "getAccount",
        args: [wallet.address, provider],
      })
      .catch((cause: unknown) => {
        throw new AppError(
          "no_available_provider",
          "The router has no account with this provider at the moment.",
          {
            cause,
          },
        );
      });
    return createAppSecret({
      account: wallet,
      provider,
      timestamp: now,
      expiresAt: now + LIFETIME_MS,
      nonce: randomBytes(16).toString("hex"),
      generation: Number(account.generation),
      tokenId: EPHEMERAL,
    });
  }
}
