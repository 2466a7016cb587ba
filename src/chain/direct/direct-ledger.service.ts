import type { PublicClient } from "viem";
import { memoizeFor } from "../../kernel/async/memoize-for.ts";
import type { Clock } from "../../kernel/clock.ts";
import { listOf, type Page, type PageRequest } from "../../kernel/page.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { inferenceServingAbi } from "../abi/inference-serving.ts";
import { ledgerManagerAbi } from "../abi/ledger-manager.ts";
import { addressOf, type Network } from "../networks.ts";
import { contractError } from "../rpc/contract-error.ts";
import { refusedWith } from "../rpc/refused-with.ts";
import { type Listed, readOffsetPage } from "./offset-page.ts";
import { pendingRefunds, type Refund } from "./refunds.ts";

/** A user's ledger on the direct path, neuron. Funds that are not available are in sub-accounts. */
export type DirectLedger = {
  /** In lower case. */
  readonly user: Hex;
  readonly available: bigint;
  readonly locked: bigint;
  readonly total: bigint;
  readonly additionalInfo: string;
};

/** A user's sub-account at one inference provider, neuron. */
export type SubAccount = {
  readonly user: Hex;
  readonly provider: Hex;
  readonly balance: bigint;
  readonly pendingRefund: bigint;
  /** The amount that requests may use: the balance minus pending refunds. */
  readonly spendable: bigint;
  readonly refunds: readonly Refund[];
  /** Whether the user acknowledged the provider's signer; otherwise nothing is settled. */
  readonly acknowledged: boolean;
  readonly nonce: bigint;
  /** Secrets (`app-sk-`) of another generation are invalid. */
  readonly generation: bigint;
  /** The token ids, 0 to 254, of persistent secrets that are revoked in this generation. */
  readonly revokedTokenIds: readonly number[];
};

/** The limits of the direct path's contracts. Amounts are neuron. */
export type DirectRules = {
  readonly minimumLedger: bigint;
  /** The minimum of the first transfer to a provider. */
  readonly minimumTransfer: bigint;
  readonly maxProvidersPerRetrieval: bigint;
  readonly maxProvidersPerService: bigint;
  /** How long a refund from an inference provider is locked. */
  readonly refundLockSeconds: bigint;
};

type Dependencies = { readonly client: PublicClient; readonly network: Network; readonly clock: Clock };

const RULES_TTL_MS = 60_000;
const EPHEMERAL_TOKEN_ID = 255;

/**
 * Reads the funds of the direct path from the chain: a pool separate from the router's balance, and deposits to one do
 * not fill the other (SPEC 1.3). The contracts emit no events for it, so each call reads the chain. Every read throws
 * `contract_not_found` if the network has no such contract, and `chain_error` when the RPC fails.
 */
export class DirectLedgerService {
  readonly #dependencies: Dependencies;
  /** The limits of the contracts, at most a minute old. */
  readonly rules: () => Promise<DirectRules>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.rules = memoizeFor(dependencies.clock, RULES_TTL_MS, () => this.#readRules());
  }

  /** A user's ledger, undefined if there is none. */
  async ledger(user: Hex): Promise<DirectLedger | undefined> {
    try {
      const { availableBalance, totalBalance, additionalInfo } = await this.#dependencies.client.readContract(
        {
          ...this.#ledger(),
          functionName: "getLedger",
          args: [user],
        },
      );
      return {
        user: lowerHex(user),
        available: availableBalance,
        locked: totalBalance > availableBalance ? totalBalance - availableBalance : 0n,
        total: totalBalance,
        additionalInfo,
      };
    } catch (error) {
      if (refusedWith(error, "LedgerNotExists")) return undefined;
      throw contractError("the ledger of the direct path", error);
    }
  }

  /** A user's sub-accounts at inference providers, in the contract's order. */
  async subAccounts(user: Hex, page: PageRequest): Promise<Page<Listed<SubAccount>>> {
    const { refundLockSeconds } = await this.rules();
    return readOffsetPage(listOf("direct-sub-accounts", lowerHex(user)), page, async (offset, limit) => {
      try {
        const [rows, total] = await this.#dependencies.client.readContract({
          ...this.#serving(),
          functionName: "getAccountsByUser",
          args: [user, offset, limit],
        });
        return { rows: rows.map((row) => toSubAccount(row, refundLockSeconds)), total };
      } catch (error) {
        throw contractError("the sub-accounts of the direct path", error);
      }
    });
  }

  /** A user's sub-account at one inference provider, undefined if there is none. */
  async subAccount(user: Hex, provider: Hex): Promise<SubAccount | undefined> {
    const { refundLockSeconds } = await this.rules();
    try {
      const call = { ...this.#serving(), functionName: "getAccount", args: [user, provider] } as const;
      return toSubAccount(await this.#dependencies.client.readContract(call), refundLockSeconds);
    } catch (error) {
      if (refusedWith(error, "AccountNotExists")) return undefined;
      throw contractError("the sub-accounts of the direct path", error);
    }
  }

  async #readRules(): Promise<DirectRules> {
    const { client } = this.#dependencies;
    const ledger = this.#ledger();
    try {
      const [minimumLedger, minimumTransfer, perRetrieval, perService, refundLockSeconds] = await Promise.all(
        [
          client.readContract({ ...ledger, functionName: "MIN_ACCOUNT_BALANCE" }),
          client.readContract({ ...ledger, functionName: "MIN_TRANSFER_AMOUNT" }),
          client.readContract({ ...ledger, functionName: "MAX_PROVIDERS_PER_BATCH" }),
          client.readContract({ ...ledger, functionName: "MAX_PROVIDERS_PER_USER_PER_SERVICE" }),
          client.readContract({ ...this.#serving(), functionName: "lockTime" }),
        ],
      );
      return {
        minimumLedger,
        minimumTransfer,
        maxProvidersPerRetrieval: perRetrieval,
        maxProvidersPerService: perService,
        refundLockSeconds,
      };
    } catch (error) {
      throw contractError("the rules of the direct path", error);
    }
  }

  #ledger() {
    return {
      address: addressOf(this.#dependencies.network, "computeLedger"),
      abi: ledgerManagerAbi,
    } as const;
  }

  #serving() {
    return {
      address: addressOf(this.#dependencies.network, "computeInference"),
      abi: inferenceServingAbi,
    } as const;
  }
}

type AccountRow = {
  readonly user: Hex;
  readonly provider: Hex;
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly pendingRefund: bigint;
  readonly refunds: readonly {
    readonly index: bigint;
    readonly amount: bigint;
    readonly createdAt: bigint;
  }[];
  readonly acknowledged: boolean;
  readonly validRefundsLength: bigint;
  readonly generation: bigint;
  readonly revokedBitmap: bigint;
};

function toSubAccount(row: AccountRow, lockSeconds: bigint): SubAccount {
  const { nonce, balance, pendingRefund, acknowledged, generation } = row;
  return {
    user: lowerHex(row.user),
    provider: lowerHex(row.provider),
    balance,
    pendingRefund,
    spendable: balance > pendingRefund ? balance - pendingRefund : 0n,
    refunds: pendingRefunds(row.refunds, row.validRefundsLength, lockSeconds),
    acknowledged,
    nonce,
    generation,
    revokedTokenIds: bitsOf(row.revokedBitmap),
  };
}

function bitsOf(bitmap: bigint): readonly number[] {
  return Array.from({ length: EPHEMERAL_TOKEN_ID }, (_, id) => id).filter(
    (id) => (bitmap >> BigInt(id)) & 1n,
  );
}
