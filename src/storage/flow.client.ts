import { BaseError, ExecutionRevertedError, type PublicClient, RpcRequestError } from "viem";
import { flowAbi, marketAbi } from "../chain/abi/flow.ts";
import { chainError } from "../chain/rpc/rpc.client.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Hex } from "../kernel/text/hex.ts";

type Dependencies = { readonly client: PublicClient; readonly flow: Hex; readonly clock: Clock };

const PRICE_CACHE_MS = 10_000;
/** Gas money for simulated calls, so that an empty wallet gets the same result as a funded one. */
const GAS_MONEY_NEURON = 10n ** 18n;

/** Reads storage prices from the Flow contract and simulates submissions. */
export class FlowClient {
  readonly #dependencies: Dependencies;
  #cached: { readonly price: Promise<bigint>; readonly atMs: number } | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The address of the Flow contract, which receives submissions. */
  get address(): Hex {
    return this.#dependencies.flow;
  }

  /** Neuron for a sector of 256 bytes. Callers within 10 s share one request. Throws `chain_error`. */
  pricePerSector(): Promise<bigint> {
    const nowMs = this.#dependencies.clock.now().getTime();
    if (this.#cached && nowMs - this.#cached.atMs < PRICE_CACHE_MS) return this.#cached.price;
    const request = { price: this.#readPrice(), atMs: nowMs };
    this.#cached = request;
    request.price.catch(() => {
      if (this.#cached === request) this.#cached = undefined;
    });
    return request.price;
  }

  /**
   * Why the chain would revert a submission sent by `from`, assuming sufficient funds: "" without a reason, as for a
   * function that the contract does not have. Undefined when it would not revert, or the endpoint cannot tell.
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
      if (!(reverted instanceof ExecutionRevertedError)) return undefined;
      return reasonOf(reverted) || selectorOf(error);
    }
  }

  async #readPrice(): Promise<bigint> {
    const { client, flow } = this.#dependencies;
    try {
      const market = await client.readContract({ address: flow, abi: flowAbi, functionName: "market" });
      return await client.readContract({ address: market, abi: marketAbi, functionName: "pricePerSector" });
    } catch (error) {
      throw chainError("the price of storage", error);
    }
  }
}

/** The selector of the contract's own error, which is only in the data on some nodes; "" for a revert without data. */
function selectorOf(error: BaseError): string {
  const answer = error.walk((cause) => cause instanceof RpcRequestError);
  const data: unknown = answer instanceof RpcRequestError ? answer.data : undefined;
  return typeof data === "string" && data.length >= SELECTOR_LENGTH
    ? `custom error ${data.slice(0, SELECTOR_LENGTH)}`
    : "";
}

/** 4 bytes in hexadecimal, with 0x. */
const SELECTOR_LENGTH = 10;

/** The contract's revert reason, without the text that the node adds around it. */
function reasonOf({ details, shortMessage }: ExecutionRevertedError): string {
  const [, reason = ""] = /execution reverted:? ?(.*)$/is.exec(details || shortMessage) ?? [];
  return /^(for an unknown reason\.?|, data: "?0x"?)?$/i.test(reason) ? "" : reason;
}
