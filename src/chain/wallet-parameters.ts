import type { Hex } from "../kernel/text/hex.ts";
import type { Network } from "./networks.ts";

/** The parameter of `wallet_addEthereumChain` (EIP-3085). */
export type WalletParameters = {
  readonly chainId: Hex;
  readonly chainName: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly rpcUrls: readonly string[];
  readonly blockExplorerUrls?: readonly string[];
};

/** The parameters that add the network to a wallet. Wallets reject an empty explorer list, so it is omitted. */
export function walletParameters(network: Network): WalletParameters {
  return {
    chainId: network.chainIdHex,
    chainName: network.name,
    nativeCurrency: { name: network.symbol, symbol: network.symbol, decimals: network.decimals },
    rpcUrls: network.rpcUrls,
    ...(network.explorerUrl ? { blockExplorerUrls: [network.explorerUrl] } : {}),
  };
}
