import type { Logger } from "../../kernel/log.ts";
import type { Network } from "../networks.ts";

/**
 * The RPC endpoints that the chain is read from: those of RPC_URL, else the network's own. The public ones are for
 * development, and operators are told (SPEC 2.1).
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
      "the chain is read from the network's public endpoint, which is for development: set RPC_URL to one of a provider",
    );
  return rpcUrls;
}
