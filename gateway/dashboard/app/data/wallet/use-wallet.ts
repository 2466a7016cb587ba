import { useEffect, useState } from "react";
import { useNetwork } from "../session/session.tsx";
import {
  browserWallets,
  type DevelopmentWallet,
  developmentWallet,
  type Wallet,
  watchWallets,
} from "./wallet.ts";

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
  useEffect(() => void findDevelopmentWallet(networkId).then(setWallet), [networkId]);
  return wallet;
}

/** The wallet to send with, as `findWallet`: undefined while it is looked for, null if there is none. */
export function useWallet(): Wallet | null | undefined {
  const wallets = useBrowserWallets();
  const development = useDevelopmentWallet();
  return development === undefined ? undefined : (development ?? wallets[0] ?? null);
}

/** The wallet to send with: the development network's if there is one, otherwise the browser's first. */
export async function findWallet(networkId: string): Promise<Wallet | null> {
  return (await findDevelopmentWallet(networkId)) ?? browserWallets()[0] ?? null;
}

let found: Promise<DevelopmentWallet | undefined> | undefined;

/** Asks the gateway once; again if it could not be reached. */
async function findDevelopmentWallet(networkId: string): Promise<DevelopmentWallet | null> {
  if (networkId !== "devnet") return null;
  found ??= developmentWallet();
  try {
    return (await found) ?? null;
  } catch {
    found = undefined;
    return null;
  }
}
