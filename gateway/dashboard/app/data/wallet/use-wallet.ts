import { useEffect, useState } from "react";
import { retry } from "../query/fetch-again.ts";
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

/** The wallet of a development network: undefined until the gateway has answered, null on a real network. */
export function useDevelopmentWallet(): DevelopmentWallet | null | undefined {
  const { networkId } = useNetwork();
  const [wallet, setWallet] = useState<DevelopmentWallet | null>();
  useEffect(() => {
    const left = new AbortController();
    const find = () => findDevelopmentWallet(networkId);
    retry(find, { maxAttempts: Number.POSITIVE_INFINITY, signal: left.signal }).then(setWallet, () => {});
    return () => left.abort();
  }, [networkId]);
  return wallet;
}

/** The wallet to send with, as `findWallet`: undefined while it is looked for, null if there is none. */
export function useWallet(): Wallet | null | undefined {
  const wallets = useBrowserWallets();
  const development = useDevelopmentWallet();
  return development === undefined ? undefined : (development ?? wallets[0] ?? null);
}

/**
 * The wallet to send with: the development network's if there is one, otherwise the browser's first. Throws if the
 * gateway cannot be reached.
 */
export async function findWallet(networkId: string): Promise<Wallet | null> {
  return (await findDevelopmentWallet(networkId)) ?? browserWallets()[0] ?? null;
}

let found: Promise<DevelopmentWallet | undefined> | undefined;

/** Asks the gateway until it has answered once. Throws if it cannot be reached. */
async function findDevelopmentWallet(networkId: string): Promise<DevelopmentWallet | null> {
  if (networkId !== "devnet") return null;
  found ??= developmentWallet();
  try {
    return (await found) ?? null;
  } catch {
    found = undefined;
    throw new Error("The gateway cannot be reached.");
  }
}
