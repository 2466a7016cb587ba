import type { Hex } from "../../kernel/text/hex.ts";

/** An unsigned transaction for a wallet to sign and send; the gateway sends none. `value` is neuron. */
export type PreparedTransaction = {
  readonly chainId: number;
  /** The required sender, if only one account may send it. */
  readonly from: Hex | null;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  /** Warnings for the signer. */
  readonly warnings: readonly string[];
};
