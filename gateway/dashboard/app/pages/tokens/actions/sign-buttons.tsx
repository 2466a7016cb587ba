import { Button, Stack } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import { reasonOf } from "../../../data/query/graph.ts";
import { useNetwork } from "../../../data/session/session.tsx";
import { useBrowserWallets, useDevelopmentWallet } from "../../../data/wallet/use-wallet.ts";
import type { Wallet } from "../../../data/wallet/wallet.ts";
import type { WalletChain } from "../../../data/wallet/wallet-requests.ts";
import { DialogButtons } from "../../../parts/form/dialog.tsx";
import { EmptyState, Failure, Loading } from "../../../parts/page/states.tsx";
import { isSame } from "../token-queries.ts";
import type { Prepared } from "./prepare.ts";

/** A button for each wallet that may sign: those of the browser, and the development network's own. */
export function SignButtons({
  sender,
  prepared: { to, data, value },
  onSent,
  children,
}: {
  sender: string;
  prepared: Prepared;
  onSent(hash: string, wallet: Wallet): void;
  children: ReactNode;
}) {
  const chain = useNetwork().walletParameters as WalletChain;
  const browser = useBrowserWallets();
  const development = useDevelopmentWallet();
  const [signing, setSigning] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const isSigning = useRef(false);
  const own = development && isSame(development.account, sender) ? [development] : [];
  const wallets: readonly Wallet[] = [...own, ...browser];
  const sign = async (wallet: Wallet) => {
    if (isSigning.current) return;
    isSigning.current = true;
    setSigning(wallet.id);
    setFailure(undefined);
    try {
      onSent(await wallet.send({ to, data, value, chain, from: sender }), wallet);
    } catch (error) {
      setFailure(reasonOf(error));
    } finally {
      isSigning.current = false;
      setSigning(undefined);
    }
  };
  const waiting = wallets.find(({ id }) => id === signing);
  const buttons = wallets.map((wallet, n) => (
    <Button
      key={wallet.id}
      variant={n === 0 ? "filled" : "default"}
      loading={signing === wallet.id}
      disabled={signing !== undefined && signing !== wallet.id}
      leftSection={wallet.icon && <img src={wallet.icon} alt="" width="18" height="18" />}
      onClick={() => sign(wallet)}
    >
      Sign with {wallet.name}
    </Button>
  ));
  return (
    <>
      <p role="status" className="quiet">
        {waiting && `Confirm the transaction in ${waiting.name}.`}
      </p>
      {failure && <Failure reason={failure} />}
      {wallets.length === 0 &&
        (development === undefined ? (
          <Loading rows={1} />
        ) : (
          <EmptyState title="No wallet found in this browser.">
            Install one that announces itself (EIP-6963), such as MetaMask or Rabby, and load this page again.
          </EmptyState>
        ))}
      {wallets.length > 1 && <Stack gap="xs">{buttons}</Stack>}
      <DialogButtons>
        {children}
        {wallets.length === 1 && buttons}
      </DialogButtons>
    </>
  );
}
