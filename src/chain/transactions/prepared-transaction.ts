import type { Hex } from "../../kernel/text/hex.ts";

/** A transaction for a wallet to sign and send; nothing of it is signed, and we send none. `value` is neuron. */
export type PreparedTransaction = {
  readonly chainId: number;
  /** Who has to send it, where only one may. */
  readonly from: Hex | null;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  /** What whoever signs it should know. */
  readonly warnings: readonly string[];
};
