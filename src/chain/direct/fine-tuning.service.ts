import type { PublicClient } from "viem";
import { memoizeFor } from "../../kernel/async/memoize-for.ts";
import type { Clock } from "../../kernel/clock.ts";
import { listOf, type Page, type PageRequest } from "../../kernel/page.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { fineTuningServingAbi } from "../abi/fine-tuning-serving.ts";
import type { Network } from "../networks.ts";
import { contractError } from "../rpc/contract-error.ts";
import { refusedWith } from "../rpc/refused-with.ts";
import {
  chooseFineTuning,
  type FineTuningChoice,
  type FineTuningContract,
  fineTuningContracts,
} from "./fine-tuning-contracts.ts";
import { type Listed, readOffsetPage } from "./offset-page.ts";
import { pendingRefunds, type Refund } from "./refunds.ts";

/** A fine-tuning provider's offer. The price is in neuron per token. */
export type FineTuningOffer = {
  /** In lower case. */
  readonly provider: Hex;
  readonly url: string;
  readonly quota: {
    readonly cpuCount: bigint;
    readonly nodeMemory: bigint;
    readonly gpuCount: bigint;
    readonly nodeStorage: bigint;
    readonly gpuType: string;
  };
  readonly pricePerToken: bigint;
  /** Whether the provider is busy with a task. */
  readonly occupied: boolean;
  readonly models: readonly string[];
  readonly teeSigner: Hex;
  readonly teeAcknowledged: boolean;
};

/** A user's sub-account at a fine-tuning provider, neuron. */
export type FineTuningAccount = {
  readonly user: Hex;
  readonly provider: Hex;
  readonly balance: bigint;
  readonly pendingRefund: bigint;
  readonly spendable: bigint;
  readonly acknowledged: boolean;
  readonly nonce: bigint;
  readonly deliverablesCount: bigint;
};

/** A trained model delivered by a provider. */
export type Deliverable = {
  readonly id: string;
  /** The storage root of the encrypted model, as reported by the provider. */
  readonly modelRoot: Hex;
  /** The model's key, sealed for the user; empty until settlement. */
  readonly encryptedSecret: Hex;
  readonly acknowledged: boolean;
  readonly settled: boolean;
  readonly deliveredAt: Date;
};

type Dependencies = { readonly client: PublicClient; readonly network: Network; readonly clock: Clock };

const OFFERS_TTL_MS = 5_000;
const LOCK_TTL_MS = 60_000;

/**
 * Reads the fine-tuning contracts, of which a network may have two (SPEC 9.3). Fine-tuning uses the direct path only.
 * Every read throws `contract_not_found` if the network has no such version, and `chain_error` when the RPC fails.
 */
export class FineTuningService {
  readonly #dependencies: Dependencies;
  readonly #offers = new Map<Hex, () => Promise<readonly FineTuningOffer[]>>();
  readonly #locks = new Map<Hex, () => Promise<bigint>>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    for (const { address } of fineTuningContracts(dependencies.network)) {
      this.#offers.set(
        address,
        memoizeFor(dependencies.clock, OFFERS_TTL_MS, () => this.#readOffers(address)),
      );
      this.#locks.set(
        address,
        memoizeFor(dependencies.clock, LOCK_TTL_MS, () => this.#readLock(address)),
      );
    }
  }

  /** The versions deployed on the network, the current one first. */
  contracts(): readonly FineTuningContract[] {
    return fineTuningContracts(this.#dependencies.network);
  }

  /** The selected contract. Throws what `chooseFineTuning` throws. */
  contract(choice: FineTuningChoice): FineTuningContract {
    return chooseFineTuning(this.#dependencies.network, choice);
  }

  /** Every offer of a contract, by provider; at most 5 s old. */
  async offers({ address }: FineTuningContract): Promise<readonly FineTuningOffer[]> {
    return (await this.#offers.get(address)?.()) ?? [];
  }

  /** A provider's offer, undefined if it has none. */
  async offer(contract: FineTuningContract, provider: Hex): Promise<FineTuningOffer | undefined> {
    const lowered = lowerHex(provider);
    return (await this.offers(contract)).find((offer) => offer.provider === lowered);
  }

  /** How long a refund is locked, seconds. */
  async refundLockSeconds({ address }: FineTuningContract): Promise<bigint> {
    return (await this.#locks.get(address)?.()) ?? 0n;
  }

  /** A user's sub-accounts, in the contract's order. */
  accounts(
    { address }: FineTuningContract,
    user: Hex,
    page: PageRequest,
  ): Promise<Page<Listed<FineTuningAccount>>> {
    return readOffsetPage(
      listOf("fine-tuning-accounts", address, lowerHex(user)),
      page,
      async (offset, limit) => {
        try {
          const [rows, total] = await this.#dependencies.client.readContract({
            ...contractAt(address),
            functionName: "getAccountsByUser",
            args: [user, offset, limit],
          });
          return { rows: rows.map(toAccount), total };
        } catch (error) {
          throw contractError("the sub-accounts of fine-tuning", error);
        }
      },
    );
  }

  /** A user's sub-account at one provider, undefined if there is none. */
  async account(
    contract: FineTuningContract,
    user: Hex,
    provider: Hex,
  ): Promise<FineTuningAccount | undefined> {
    const row = await this.#accountRow(contract, user, provider);
    return row && toAccount(row);
  }

  /** The pending refunds from one provider, oldest first. */
  async refunds(contract: FineTuningContract, user: Hex, provider: Hex): Promise<readonly Refund[]> {
    const [row, lockSeconds] = await Promise.all([
      this.#accountRow(contract, user, provider),
      this.refundLockSeconds(contract),
    ]);
    return row ? pendingRefunds(row.refunds, row.validRefundsLength, lockSeconds) : [];
  }

  /** The models that a provider delivered to a user, oldest first. The contract keeps only the latest ones. */
  async deliverables(
    { address }: FineTuningContract,
    user: Hex,
    provider: Hex,
  ): Promise<readonly Deliverable[]> {
    try {
      const rows = await this.#dependencies.client.readContract({
        ...contractAt(address),
        functionName: "getDeliverables",
        args: [user, provider],
      });
      return rows.map((row) => ({
        id: row.id,
        modelRoot: lowerHex(row.modelRootHash),
        encryptedSecret: lowerHex(row.encryptedSecret),
        acknowledged: row.acknowledged,
        settled: row.settled,
        deliveredAt: new Date(Number(row.timestamp) * 1_000),
      }));
    } catch (error) {
      if (refusedWith(error, "AccountNotExists")) return [];
      throw contractError("the deliverables of fine-tuning", error);
    }
  }

  async #accountRow({ address }: FineTuningContract, user: Hex, provider: Hex) {
    try {
      return await this.#dependencies.client.readContract({
        ...contractAt(address),
        functionName: "getAccount",
        args: [user, provider],
      });
    } catch (error) {
      if (refusedWith(error, "AccountNotExists")) return undefined;
      throw contractError("the sub-accounts of fine-tuning", error);
    }
  }

  async #readOffers(address: Hex): Promise<readonly FineTuningOffer[]> {
    try {
      const call = { ...contractAt(address), functionName: "getAllServices" } as const;
      const rows = await this.#dependencies.client.readContract(call);
      return rows
        .map((row) => ({
          provider: lowerHex(row.provider),
          url: row.url.replace(/\/+$/, ""),
          quota: row.quota,
          pricePerToken: row.pricePerToken,
          occupied: row.occupied,
          models: row.models,
          teeSigner: lowerHex(row.teeSignerAddress),
          teeAcknowledged: row.teeSignerAcknowledged,
        }))
        .sort((first, second) => (first.provider < second.provider ? -1 : 1));
    } catch (error) {
      throw contractError("the services of fine-tuning", error);
    }
  }

  async #readLock(address: Hex): Promise<bigint> {
    try {
      return await this.#dependencies.client.readContract({
        ...contractAt(address),
        functionName: "lockTime",
      });
    } catch (error) {
      throw contractError("the rules of fine-tuning", error);
    }
  }
}

function contractAt(address: Hex) {
  return { address, abi: fineTuningServingAbi } as const;
}

type AccountRow = Pick<
  FineTuningAccount,
  "user" | "provider" | "balance" | "pendingRefund" | "acknowledged" | "nonce" | "deliverablesCount"
>;

function toAccount(row: AccountRow): FineTuningAccount {
  const { balance, pendingRefund, acknowledged, nonce, deliverablesCount } = row;
  return {
    user: lowerHex(row.user),
    provider: lowerHex(row.provider),
    balance,
    pendingRefund,
    spendable: balance > pendingRefund ? balance - pendingRefund : 0n,
    acknowledged,
    nonce,
    deliverablesCount,
  };
}
