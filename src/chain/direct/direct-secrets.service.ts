import { getAddress } from "viem";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { newId } from "../../kernel/text/ids.ts";
import {
  type AppSecretClaims,
  type AppSecretText,
  appSecretText,
  assembleAppSecret,
  EPHEMERAL_TOKEN_ID,
} from "./app-secret.ts";
import type { DirectLedgerService } from "./direct-ledger.service.ts";

/** A secret to sign: its claims, and the text for the wallet. Times are milliseconds since 1970. */
export type PreparedSecret = AppSecretText & AppSecretClaims;

type SecretRequest = {
  /** The wallet that pays the provider. */
  readonly account: Hex;
  readonly provider: Hex;
  /** 0 to 254 are revocable individually; 255, the default, expires within a day. */
  readonly tokenId?: number | undefined;
  /** The expiry; null for never, only for persistent secrets. The default is the longest lifetime allowed. */
  readonly expiresAt?: Date | null | undefined;
};

type Dependencies = { readonly ledger: DirectLedgerService; readonly clock: Clock };

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Prepares `app-sk-` secrets for external wallets to sign (SPEC 5.7). The service never has the wallet's key; it
 * assembles the secret from the wallet's signature, returns it once and does not store it.
 */
export class DirectSecretsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The text to sign for a secret at one inference provider, in the sub-account's current generation. Throws
   * `not_found` without a sub-account at the provider, and `invalid_parameter` for an invalid or revoked token id, or
   * an expiry that every provider would reject.
   */
  async prepare({
    account,
    provider,
    tokenId = EPHEMERAL_TOKEN_ID,
    expiresAt,
  }: SecretRequest): Promise<PreparedSecret> {
    const subAccount = await this.#dependencies.ledger.subAccount(account, provider);
    if (!subAccount)
      throw new AppError(
        "not_found",
        "This wallet has no sub-account at this provider: transfer funds to it first.",
        {
          param: "provider",
        },
      );
    if (subAccount.revokedTokenIds.includes(tokenId))
      throw new AppError(
        "invalid_parameter",
        `The token id ${tokenId} is revoked in this generation: use another one.`,
        {
          param: "tokenId",
        },
      );
    const timestamp = this.#dependencies.clock.now().getTime();
    // Also 1970-01-01T00:00:00Z, whose 0 would mean that the secret never expires.
    if (expiresAt && expiresAt.getTime() <= timestamp)
      throw new AppError("invalid_parameter", "The expiry must be in the future.", { param: "expiresAt" });
    const longest = tokenId === EPHEMERAL_TOKEN_ID ? timestamp + DAY_MS : 0;
    const claims = {
      address: getAddress(account),
      provider: getAddress(provider),
      timestamp,
      expiresAt: expiresAt === undefined ? longest : (expiresAt?.getTime() ?? 0),
      nonce: newId(),
      generation: Number(subAccount.generation),
      tokenId,
    };
    return { ...claims, ...appSecretText(claims) };
  }

  /** Assembles a secret from a prepared text and its signature. Throws `invalid_parameter` if they do not match. */
  assemble(text: string, signature: Hex): Promise<string> {
    return assembleAppSecret(text, signature);
  }
}
