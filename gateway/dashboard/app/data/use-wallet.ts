import { useEffect, useState } from "react";
import { useNetwork } from "./session.tsx";
import { type DevelopmentWallet, developmentWallet, type Wallet, watchWallets } from "./wallet.ts";

/** The wallets of this browser, as they announce themselves. */
export function useBrowserWallets(): readonly Wallet[] {
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  useEffect(() => watchWallets(setWallets), []);
  return wallets;
}

/** The wallet of a development network: undefined while it is loaded, null on a real network. */
export function useDevelopmentWallet(): DevelopmentWallet | null | undefined {
  const { networkId } = useNetwork();
  const [wallet, setWallet] = useState<DevelopmentWallet | null>();
  useEffect(() => {
    const looked = networkId === "devnet" ? developmentWallet() : Promise.resolve(undefined);
    void looked.then(
      (found) => setWallet(found ?? null),
      () => setWallet(null),
    );
  }, [networkId]);
  return wallet;
}

/** The wallet to send with: the development network's if there is one, otherwise the browser's first. */
export function useWallet(): Wallet | undefined {
  const wallets = useBrowserWallets();
  const development = useDevelopmentWallet();
  return development ?? wallets[0];
}
