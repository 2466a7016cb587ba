import { createPublicClient, http, isAddressEqual } from "viem";
import { inferenceServingAbi } from "../../chain/abi/inference-serving.ts";
import { type AppSecret, parseAppSecret, recoverAppSecretSigner } from "../../chain/direct/app-secret.ts";
import { NEURON_PER_TOKEN } from "../../kernel/text/amount.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { revertName } from "../chain/chain-client.ts";

/** Why a provider refuses a caller, with the HTTP status. */
export type Refusal = { readonly status: 400 | 401 | 503; readonly error: string };

/** Where sub-accounts are read: the chain and its InferenceServing contract. */
export type AccountSource = { readonly rpcUrl: string; readonly inference: Hex };

const MAX_SECRETS = 10_000;
const ACCOUNT_CACHE_MS = 500;
/** A sub-account must keep this much beyond what is owed (facts: router-and-chain 2.1); here nothing is ever owed. */
const RESERVE_NEURON = NEURON_PER_TOKEN;

type SubAccount = {
  readonly balance: bigint;
  readonly pendingRefund: bigint;
  readonly generation: bigint;
  readonly revokedBitmap: bigint;
};

/**
 * Checks whether a caller may use a provider, like the real broker: the secret is genuine, for this provider and not
 * expired, and its sub-account on chain has money and has not revoked it. A secret's signature is checked once; chain
 * state is at most half a second old.
 */
export class BearerCheck {
  readonly #provider: Hex;
  readonly #readAccount: ((user: Hex) => Promise<SubAccount | undefined>) | undefined;
  readonly #secrets = new Map<string, AppSecret>();
  readonly #accounts = new Map<
    string,
    { readonly readAtMs: number; account: Promise<SubAccount | undefined> }
  >();

  /** Without `accounts` the chain is not read, and every genuine secret of any wallet passes. */
  constructor(provider: Hex, accounts?: AccountSource) {
    this.#provider = provider;
    this.#readAccount = accounts && accountReader(provider, accounts);
  }

  /** Why the bearer of this `Authorization` header is refused; undefined if it passes. */
  async refusal(authorization: string | undefined): Promise<Refusal | undefined> {
    if (!authorization?.startsWith("Bearer "))
      return unauthorized("missing Authorization: Bearer app-sk-...");
    const secret = await this.#genuine(authorization.slice("Bearer ".length));
    if (!secret) return unauthorized("invalid session token");
    if (!isAddressEqual(secret.provider, this.#provider))
      return unauthorized("token is for another provider");
    if (secret.expiresAt !== 0 && secret.expiresAt <= Date.now()) return unauthorized("token expired");
    if (!this.#readAccount) return undefined;
    try {
      return judge(secret, await this.#account(secret.address, this.#readAccount));
    } catch {
      return { status: 503, error: "Provider: the chain does not respond" };
    }
  }

  /** The wallet that signed the secret of this `Authorization` header, in lower case; undefined for an invalid one. */
  async callerOf(authorization: string | undefined): Promise<string | undefined> {
    const secret = await this.#genuine(authorization?.slice("Bearer ".length) ?? "");
    return secret?.address.toLowerCase();
  }

  async #genuine(text: string): Promise<AppSecret | undefined> {
    const known = this.#secrets.get(text);
    if (known) return known;
    try {
      const secret = parseAppSecret(text);
      if (!isAddressEqual(await recoverAppSecretSigner(secret), secret.address)) return undefined;
      if (this.#secrets.size >= MAX_SECRETS) this.#secrets.clear();
      this.#secrets.set(text, secret);
      return secret;
    } catch {
      return undefined;
    }
  }

  /** Concurrent callers share one read, and one failure, for half a second. */
  #account(user: Hex, read: (user: Hex) => Promise<SubAccount | undefined>): Promise<SubAccount | undefined> {
    const key = user.toLowerCase();
    const cached = this.#accounts.get(key);
    if (cached && performance.now() - cached.readAtMs < ACCOUNT_CACHE_MS) return cached.account;
    const account = read(user);
    if (this.#accounts.size >= MAX_SECRETS) this.#accounts.clear();
    this.#accounts.set(key, { readAtMs: performance.now(), account });
    return account;
  }
}

function judge(secret: AppSecret, account: SubAccount | undefined): Refusal | undefined {
  if (!account) return { status: 400, error: "Provider: account does not exist" };
  if (BigInt(secret.generation) !== account.generation) return unauthorized("token generation is over");
  if ((account.revokedBitmap >> BigInt(secret.tokenId)) & 1n) return unauthorized("token revoked");
  if (account.balance - account.pendingRefund < RESERVE_NEURON)
    return { status: 400, error: "Provider: insufficient balance in the sub-account" };
  return undefined;
}

function accountReader(provider: Hex, { rpcUrl, inference }: AccountSource) {
  const client = createPublicClient({ transport: http(rpcUrl) });
  return async (user: Hex): Promise<SubAccount | undefined> => {
    try {
      return await client.readContract({
        address: inference,
        abi: inferenceServingAbi,
        functionName: "getAccount",
        args: [user, provider],
      });
    } catch (error) {
      if (revertName(error) === "AccountNotExists") return undefined;
      throw error;
    }
  };
}

function unauthorized(reason: string): Refusal {
  return { status: 401, error: `Provider: ${reason}` };
}
