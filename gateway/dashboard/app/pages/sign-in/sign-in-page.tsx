import { Title } from "@mantine/core";
import { useSession } from "../../data/session/session.tsx";
import { hasEnded } from "../../data/session/session-watch.ts";
import { useBrowserWallets, useDevelopmentWallet } from "../../data/wallet/use-wallet.ts";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { EmptyState, Failure, Loading } from "../../parts/page/states.tsx";

/** The sign-in page: with a wallet of this browser, or with the built-in wallet of a development network. */
export function SignInPage() {
  const { network, signIn } = useSession();
  const wallets = useBrowserWallets();
  const development = useDevelopmentWallet();
  return (
    <main id="main" className="sign-in">
      <div>
        <header>
          <Title order={1}>zerograph</Title>
          <p className="about">
            Keys, money, requests and jobs of your account on {network?.name}. You sign a text with your
            wallet: this costs nothing and moves no funds.
          </p>
        </header>
        {hasEnded() && <Failure reason="Your session has ended. Sign in again." />}
        {development && (
          <section className="card">
            <p>
              <strong>This is a development network.</strong> Its tokens have no value, and the key of this
              wallet is public. Never send real funds to it.
            </p>
            <ActionButton variant="filled" act={() => signIn(development)}>
              Sign in with the development wallet
            </ActionButton>
          </section>
        )}
        {wallets.map((wallet) => (
          <ActionButton
            key={wallet.id}
            size="md"
            act={() => signIn(wallet)}
            leftSection={wallet.icon && <img src={wallet.icon} alt="" width="24" height="24" />}
          >
            Sign in with {wallet.name}
          </ActionButton>
        ))}
        {development === undefined && wallets.length === 0 && <Loading />}
        {wallets.length === 0 && development === null && (
          <EmptyState title="No wallet found in this browser.">
            Install one that announces itself (EIP-6963), such as MetaMask or Rabby, and load this page again.
          </EmptyState>
        )}
      </div>
    </main>
  );
}
