import { BaseError, ExecutionRevertedError, type PublicClient } from "viem";
import { flowAbi, marketAbi } from "../chain/abi/flow.ts";
import { chainError } from "../chain/rpc/rpc.client.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Hex } from "../kernel/text/hex.ts";

type Dependencies = { readonly client: PublicClient; readonly flow: Hex; readonly clock: Clock };

const SHARED_MS = 10_000;
/** A token, so that a wallet that has nothing yet is told what it would be told with money. */
const GAS_MONEY_NEURON = 10n ** 18n;

/** Asks Flow what storing costs. */
export class FlowClient {
  readonly #dependencies: Dependencies;
  #asked: { readonly price: Promise<bigint>; readonly atMs: number } | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Where submissions go. */
  get address(): Hex {
    return this.#dependencies.flow;
  }

  /** Neuron for a sector of 256 bytes. Whoever asks within 10 s shares the answer. Throws `chain_error`. */
  pricePerSector(): Promise<bigint> {
    const nowMs = this.#dependencies.clock.now().getTime();
    if (this.#asked && nowMs - this.#asked.atMs < SHARED_MS) return this.#asked.price;
    const asked = { price: this.#ask(), atMs: nowMs };
    this.#asked = asked;
    asked.price.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return asked.price;
  }

  /**
   * Why the chain would revert a submission that `from` sends, as if it had the money: "" where it does not say, as it
   * does to a call that it does not know. Undefined when it would not, and when the endpoint cannot tell.
   */
  async refusalOf(call: {
    readonly from: Hex;
    readonly data: Hex;
    readonly value: bigint;
  }): Promise<string | undefined> {
    const { client, flow } = this.#dependencies;
    const { from, data, value } = call;
    try {
      const stateOverride = [{ address: from, balance: value + GAS_MONEY_NEURON }];
      await client.call({ account: from, to: flow, data, value, stateOverride });
      return undefined;
    } catch (error) {
      if (!(error instanceof BaseError)) throw error;
      const reverted = error.walk((cause) => cause instanceof ExecutionRevertedError);
      return reverted instanceof ExecutionRevertedError ? reasonOf(reverted) : undefined;
    }
  }

  async #ask(): Promise<bigint> {
    const { client, flow } = this.#dependencies;
    try {
      const market = await client.readContract({ address: flow, abi: flowAbi, functionName: "market" });
      return await client.readContract({ address: market, abi: marketAbi, functionName: "pricePerSector" });
    } catch (error) {
      throw chainError("the price of storage", error);
    }
  }
}

/** The contract's own words, without those of the node around them. */
function reasonOf({ details, shortMessage }: ExecutionRevertedError): string {
  const [, reason = ""] = /execution reverted:? ?(.*)$/is.exec(details || shortMessage) ?? [];
  return /^(for an unknown reason\.?|, data: "?0x"?)?$/i.test(reason) ? "" : reason;
}
