import type { Logger } from "../../kernel/log.ts";
import type { Network } from "../networks.ts";

/**
 * The RPC endpoints to read the chain from: RPC_URL, by default the network's public ones. Those are for development,
 * so using them logs a warning (SPEC 2.1).
 */
export function rpcUrlsOf(
  { RPC_URL }: { readonly RPC_URL: readonly string[] | undefined },
  { id, rpcUrls }: Pick<Network, "id" | "rpcUrls">,
  log: Pick<Logger, "warn">,
): readonly string[] {
  if (RPC_URL) return RPC_URL;
  if (id !== "devnet")
    log.warn(
      { rpc: rpcUrls },
      "using the network's public RPC endpoint, which is for development: set RPC_URL to a provider's endpoint",
    );
  return rpcUrls;
}
