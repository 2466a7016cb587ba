import { useEffect, useState } from "react";
import { useNetwork } from "./session.tsx";
import { developmentWallet, type Wallet, watchWallets } from "./wallet.ts";

/** The wallet to send with: the development network's if there is one, otherwise the browser's first. */
export function useWallet(): Wallet | undefined {
  const { networkId } = useNetwork();
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  const [development, setDevelopment] = useState<Wallet>();
  useEffect(() => watchWallets(setWallets), []);
  useEffect(() => {
    if (networkId === "devnet") void developmentWallet().then(setDevelopment, () => undefined);
  }, [networkId]);
  return development ?? wallets[0];
}
