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
 * The router's own `app-sk-` credentials towards providers: ephemeral tokens that its wallet signs, kept for their
 * life of 23 h and renewed an hour before the end (SPEC 5.7, facts 2.1).
 */
export class CredentialsService {
  readonly #dependencies: Dependencies;
  readonly #kept = new Map<string, { secret: Promise<string>; renewAt: number }>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The bearer for this provider. Throws `no_available_provider` when the chain cannot tell, and then asks again next time. */
  secretFor(provider: Hex): Promise<string> {
    const now = this.#dependencies.clock.now().getTime();
    const kept = this.#kept.get(provider);
    if (kept && now < kept.renewAt) return kept.secret;
    const secret = this.#sign(provider, now);
    this.#kept.set(provider, { secret, renewAt: now + LIFETIME_MS - RENEW_MS });
    secret.catch(() => this.forget(provider));
    return secret;
  }

  /** Drops a credential that a provider refused: its generation may have been bumped on the chain. */
  forget(provider: Hex): void {
    this.#kept.delete(provider);
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
        throw new AppError("no_available_provider", "The router has no account with this provider now.", {
          cause,
        });
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
