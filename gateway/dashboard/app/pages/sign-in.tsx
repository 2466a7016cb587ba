import { useEffect, useState } from "react";
import { useSession } from "../session.tsx";
import { ActionButton } from "../ui/controls.tsx";
import { Loading } from "../ui/show.tsx";
import { developmentWallet, type Wallet, watchWallets } from "../wallet.ts";

/** The sign-in page: with a wallet of this browser, or with the built-in wallet of a development network. */
export function SignInPage() {
  const { network, signIn } = useSession();
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  /** Undefined while loading. */
  const [development, setDevelopment] = useState<Wallet | null>();
  useEffect(() => watchWallets(setWallets), []);
  const isDevnet = network?.networkId === "devnet";
  useEffect(() => {
    if (!network) return;
    const looked = isDevnet ? developmentWallet() : Promise.resolve(undefined);
    void looked.then(
      (wallet) => setDevelopment(wallet ?? null),
      () => setDevelopment(null),
    );
  }, [network, isDevnet]);
  return (
    <main id="main" className="sign-in">
      <h1>zerograph</h1>
      <p className="quiet">
        Keys, money, requests and jobs of your account on {network?.name}. You sign a text with your wallet:
        this costs nothing and moves no funds.
      </p>
      {development && (
        <section className="card">
          <p>
            <strong>This is a development network.</strong> Its tokens have no value, and the key of this
            wallet is public. Never send real funds to it.
          </p>
          <ActionButton kind="primary" act={() => signIn(development)}>
            Sign in with the development wallet
          </ActionButton>
        </section>
      )}
      {wallets.map((wallet) => (
        <section key={wallet.id} className="card wallet">
          {wallet.icon && <img src={wallet.icon} alt="" width="28" height="28" />}
          <ActionButton act={() => signIn(wallet)}>Sign in with {wallet.name}</ActionButton>
        </section>
      ))}
      {development === undefined && wallets.length === 0 && <Loading />}
      {wallets.length === 0 && development === null && (
        <p className="empty">
          No wallet found in this browser. Install one that announces itself (EIP-6963), such as MetaMask or
          Rabby, and load this page again.
        </p>
      )}
    </main>
  );
}
