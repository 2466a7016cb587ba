import type { PublicClient } from "viem";
import { memoizeFor } from "../../kernel/async/memoize-for.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { inferenceServingAbi } from "../abi/inference-serving.ts";
import { refusedWith } from "../rpc/refused-with.ts";
import { chainError } from "../rpc/rpc.client.ts";

/** A row of the inference registry (facts: router-and-chain 2). Prices are neuron per token or unit. */
export type InferenceService = {
  /** The provider's address, in lower case. */
  readonly address: Hex;
  readonly serviceType: string;
  readonly url: string;
  readonly model: string;
  readonly verifiability: string;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly teeSigner: Hex;
  readonly teeAcknowledged: boolean;
  /** Whether `additionalInfo` declares a proxy for a model that runs elsewhere. */
  readonly isCentralized: boolean;
  /** JSON text that the provider controls; it may be anything. */
  readonly additionalInfo: string;
  readonly updatedAt: Date;
};

const PAGE = 50n;
const MAX_SERVICES = 5_000n;
const RECENT_MS = 5_000;
/** One query may name hundreds of providers, and endpoints limit the rate of requests. */
const MAX_CONCURRENT = 16;

/** Reads the on-chain inference registry. Every failure of the chain is a `chain_error`. */
export class InferenceRegistry {
  readonly #client: PublicClient;
  readonly #contract: { readonly address: Hex; readonly abi: typeof inferenceServingAbi };

  /** All rows sorted by address, at most 5 s old: reading them takes one call per 50 rows. */
  readonly recent: () => Promise<readonly InferenceService[]>;

  constructor(client: PublicClient, address: Hex, clock: Clock = systemClock) {
    this.#client = client;
    this.#contract = { address, abi: inferenceServingAbi };
    this.recent = memoizeFor(clock, RECENT_MS, async () =>
      [...(await this.all())].sort((first, second) => (first.address < second.address ? -1 : 1)),
    );
  }

  /**
   * All rows, page by page, at most 5,000. More than one page is read at one block: the contract moves its last row into
   * the place of a removed one, so of pages of different blocks a service may be on none.
   */
  async all(): Promise<readonly InferenceService[]> {
    try {
      const { rows, total } = await this.#page(0n);
      if (total <= PAGE) return rows;
      const block = await this.#client.getBlockNumber({ cacheTime: 0 });
      // A backend that lags may lack this block: pages of different blocks are better than none.
      return await this.#allAt(block).catch(() => this.#allAt(undefined));
    } catch (error) {
      throw chainError("the inference registry", error);
    }
  }

  async #allAt(blockNumber: bigint | undefined): Promise<readonly InferenceService[]> {
    const services: InferenceService[] = [];
    for (let offset = 0n, total = 1n; offset < total && offset < MAX_SERVICES; offset += PAGE) {
      const page = await this.#page(offset, blockNumber);
      total = page.total;
      services.push(...page.rows);
    }
    return services;
  }

  async #page(offset: bigint, blockNumber?: bigint) {
    const call = { ...this.#contract, functionName: "getAllServices", args: [offset, PAGE] } as const;
    const at = blockNumber === undefined ? {} : { blockNumber };
    const [rows, total] = await this.#client.readContract({ ...call, ...at });
    return { rows: rows.map(toService), total };
  }

  /** The current rows of these providers, in input order; undefined for a provider that is not registered. */
  async byProviders(providers: readonly Hex[]): Promise<readonly (InferenceService | undefined)[]> {
    const services: (InferenceService | undefined)[] = [];
    for (let from = 0; from < providers.length; from += MAX_CONCURRENT) {
      const some = providers.slice(from, from + MAX_CONCURRENT);
      services.push(...(await Promise.all(some.map((provider) => this.#byProvider(provider)))));
    }
    return services;
  }

  async #byProvider(provider: Hex): Promise<InferenceService | undefined> {
    try {
      const call = { ...this.#contract, functionName: "getService", args: [provider] } as const;
      return toService(await this.#client.readContract(call));
    } catch (error) {
      if (refusedWith(error, "ServiceNotExist")) return undefined;
      throw chainError("the inference registry", error);
    }
  }
}

type Row = {
  readonly provider: Hex;
  readonly serviceType: string;
  readonly url: string;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly updatedAt: bigint;
  readonly model: string;
  readonly verifiability: string;
  readonly additionalInfo: string;
  readonly teeSignerAddress: Hex;
  readonly teeSignerAcknowledged: boolean;
};

function toService(row: Row): InferenceService {
  return {
    address: lowerHex(row.provider),
    serviceType: row.serviceType,
    url: row.url.replace(/\/+$/, ""),
    model: row.model,
    verifiability: row.verifiability,
    inputPrice: row.inputPrice,
    outputPrice: row.outputPrice,
    teeSigner: lowerHex(row.teeSignerAddress),
    teeAcknowledged: row.teeSignerAcknowledged,
    isCentralized: isCentralized(row.additionalInfo),
    additionalInfo: row.additionalInfo,
    updatedAt: new Date(Number(row.updatedAt) * 1_000),
  };
}

/** The provider controls `additionalInfo`: whatever it contains, reading the row must not fail. */
function isCentralized(additionalInfo: string): boolean {
  try {
    const info: unknown = JSON.parse(additionalInfo);
    return (
      typeof info === "object" &&
      info !== null &&
      "ProviderType" in info &&
      info.ProviderType === "centralized"
    );
  } catch {
    return false;
  }
}
