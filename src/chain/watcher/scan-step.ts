import type { Hex } from "../../kernel/text/hex.ts";
import type { ChainBlock } from "./log-handler.ts";
import type { Mark } from "./log-watcher.store.ts";

/**
 * The outcome of one step. `scanned`: rows and cursor were written. `idle`: no new block. `moved`: the chain or the
 * cursor moved meanwhile; step again. `behind`: the endpoint lacks blocks that were already read, or some below its newest.
 * `reverted`: `depth` blocks were reverted. `halted`: nothing may be written.
 */
export type Step =
  | {
      readonly kind: "scanned" | "idle";
      readonly scanned: bigint | undefined;
      readonly head: bigint;
      readonly headHash: Hex;
    }
  | { readonly kind: "moved" }
  | { readonly kind: "behind"; readonly why: string }
  | {
      readonly kind: "reverted";
      readonly depth: number;
      readonly scanned: bigint | undefined;
      readonly head: bigint;
    }
  | { readonly kind: "halted"; readonly why: string };

/** The endpoint is behind the cursor. */
export function behind(cursor: Mark, head: ChainBlock): Step {
  return {
    kind: "behind",
    why: `it is ${cursor.number - head.number} blocks behind the blocks already read`,
  };
}

/** Nothing may be written, for this reason. */
export function halted(why: string): Step {
  return { kind: "halted", why };
}
