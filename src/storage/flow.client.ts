import type { PublicClient } from "viem";
import { flowAbi, marketAbi } from "../chain/abi/flow.ts";
import { chainError } from "../chain/rpc.client.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Hex } from "../kernel/hex.ts";

type Needs = { readonly client: PublicClient; readonly flow: Hex; readonly clock: Clock };

const SHARED_MS = 10_000;

/** Asks Flow what storing costs. */
export class FlowClient {
  readonly #needs: Needs;
  #asked: { readonly price: Promise<bigint>; readonly atMs: number } | undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Where submissions go. */
  get address(): Hex {
    return this.#needs.flow;
  }

  /** Neuron for a sector of 256 bytes. Whoever asks within 10 s shares the answer. Throws `chain_error`. */
  pricePerSector(): Promise<bigint> {
    const nowMs = this.#needs.clock.now().getTime();
    if (this.#asked && nowMs - this.#asked.atMs < SHARED_MS) return this.#asked.price;
    const asked = { price: this.#ask(), atMs: nowMs };
    this.#asked = asked;
    asked.price.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return asked.price;
  }

  async #ask(): Promise<bigint> {
    const { client, flow } = this.#needs;
    try {
      const market = await client.readContract({ address: flow, abi: flowAbi, functionName: "market" });
      return await client.readContract({ address: market, abi: marketAbi, functionName: "pricePerSector" });
    } catch (error) {
      throw chainError("the price of storage", error);
    }
  }
}
