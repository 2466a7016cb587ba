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

/** A secret to be: what it will say, and what the wallet has to sign for it. Times are milliseconds since 1970. */
export type PreparedSecret = AppSecretText & AppSecretClaims;

type Wanted = {
  /** Whose wallet pays the provider. */
  readonly account: Hex;
  readonly provider: Hex;
  /** 0 to 254 can be revoked one by one; 255, the default, dies within a day. */
  readonly tokenId?: number | undefined;
  /** When it ends; null for never, which only persistent ones may. The default is the longest that is allowed. */
  readonly expiresAt?: Date | null | undefined;
};

type Dependencies = { readonly ledger: DirectLedgerService; readonly clock: Clock };

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Makes `app-sk-` secrets for wallets that sign elsewhere (SPEC 5.7). The wallet's key never comes here; the finished
 * secret is made of what the wallet signed, is given back once and not kept.
 */
export class DirectSecretsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The text to sign for a secret at one inference provider, of the sub-account's present generation. Throws
   * `not_found` without a sub-account there, and `invalid_parameter` for a token id that is none or revoked, and for an
   * end that no provider takes.
   */
  async prepare({
    account,
    provider,
    tokenId = EPHEMERAL_TOKEN_ID,
    expiresAt,
  }: Wanted): Promise<PreparedSecret> {
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
        `The token id ${tokenId} is revoked in this generation: use another.`,
        {
          param: "tokenId",
        },
      );
    const timestamp = this.#dependencies.clock.now().getTime();
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
    if (claims.expiresAt !== 0 && claims.expiresAt <= timestamp)
      throw new AppError("invalid_parameter", "A secret ends in the future.", { param: "expiresAt" });
    return { ...claims, ...appSecretText(claims) };
  }

  /** The secret out of a prepared text and the wallet's signature. Throws `invalid_parameter` when they do not fit. */
  assemble(text: string, signature: Hex): Promise<string> {
    return assembleAppSecret(text, signature);
  }
}
