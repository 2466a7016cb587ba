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

/** So long a wallet may take to say which accounts it has shown to this page. */
const HAS_MS = 2_000;

/**
 * The wallet to send with: the development network's if there is one, otherwise the one of the browser that has the
 * account, otherwise the browser's first. Throws if the gateway cannot be reached.
 */
export async function findWallet(
  networkId: string,
  address: string | null | undefined,
): Promise<Wallet | null> {
  const development = await findDevelopmentWallet(networkId);
  if (development) return development;
  const wallets = browserWallets();
  const found = address && wallets.length > 1 ? await walletOf(address, wallets) : undefined;
  return found ?? wallets[0] ?? null;
}

/** The first wallet to say that it has the account; undefined if none does soon. */
async function walletOf(address: string, wallets: readonly Wallet[]): Promise<Wallet | undefined> {
  const late = new AbortController();
  const has = async (wallet: Wallet) => {
    if (await wallet.has(address)) return wallet;
    throw new Error(`${wallet.name} has another account.`);
  };
  const isLate = new Promise<undefined>((resolve) => {
    const timer = setTimeout(resolve, HAS_MS);
    late.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
  const found = Promise.any(wallets.map(has)).catch(() => undefined);
  return Promise.race([found, isLate]).finally(() => late.abort());
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
