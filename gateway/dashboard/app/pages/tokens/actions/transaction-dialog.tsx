import { Alert, Button, Stack } from "@mantine/core";
import TriangleAlert from "lucide-react/icons/triangle-alert";
import { type ReactNode, useState } from "react";
import type { Wallet } from "../../../data/wallet/wallet.ts";
import { Dialog } from "../../../parts/form/dialog.tsx";
import { Pair, Pairs } from "../../../parts/page/page.tsx";
import { Amount } from "../../../parts/value/amount.tsx";
import { Account } from "../account.tsx";
import type { Prepared } from "./prepare.ts";
import { SignButtons } from "./sign-buttons.tsx";
import { TransactionProgress } from "./transaction-progress.tsx";

/** The accounts that a transaction is about, by what they are in it. */
type Parties = Readonly<Record<string, string>>;

type Step =
  | { readonly kind: "form" }
  | { readonly kind: "review"; readonly prepared: Prepared; readonly parties: Parties }
  | { readonly kind: "sent"; readonly hash: string; readonly wallet: Wallet };

/**
 * Prepares a transaction by a form, shows it, has a wallet sign it, and follows it until it is in a block. `children`
 * gets what continues with the prepared transaction.
 */
export function TransactionDialog({
  title,
  summary,
  sender,
  onMined,
  onClose,
  children,
}: {
  title: string;
  /** What the transaction does, in a sentence. */
  summary: ReactNode;
  /** The account that must sign. */
  sender: string;
  onMined(): void;
  onClose(): void;
  children(onPrepared: (prepared: Prepared, parties?: Parties) => void): ReactNode;
}) {
  const [step, setStep] = useState<Step>({ kind: "form" });
  return (
    <Dialog title={title} onClose={onClose} size="lg">
      {/* Hidden, not removed: its fields keep what was entered for the way back. */}
      <div hidden={step.kind !== "form"}>
        {children((prepared, parties = {}) => setStep({ kind: "review", prepared, parties }))}
      </div>
      {step.kind === "review" && (
        <Review
          summary={summary}
          sender={sender}
          prepared={step.prepared}
          parties={step.parties}
          onBack={() => setStep({ kind: "form" })}
          onSent={(hash, wallet) => setStep({ kind: "sent", hash, wallet })}
        />
      )}
      {step.kind === "sent" && (
        <TransactionProgress hash={step.hash} wallet={step.wallet} onMined={onMined} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Review({
  summary,
  sender,
  prepared,
  parties,
  onBack,
  onSent,
}: {
  summary: ReactNode;
  sender: string;
  prepared: Prepared;
  parties: Parties;
  onBack(): void;
  onSent(hash: string, wallet: Wallet): void;
}) {
  const { to, data, value, warnings } = prepared;
  return (
    <Stack gap="sm">
      <p>{summary}</p>
      {warnings.map((warning) => (
        <Alert key={warning} color="yellow" variant="light" icon={<TriangleAlert size={18} />}>
          {warning}
        </Alert>
      ))}
      <Pairs>
        {Object.entries(parties).map(([name, address]) => (
          <Pair key={name} name={name}>
            <Account of={address} withCopy />
          </Pair>
        ))}
        <Pair name="Signed by">
          <Account of={sender} />
        </Pair>
        <Pair name="Calls the contract">
          <Account of={to} withCopy />
        </Pair>
        <Pair name="Sends">{value === "0" ? "nothing besides its gas" : <Amount neuron={value} />}</Pair>
        <Pair name="Data">
          <details className="sealed-key">
            <summary>{((data.length - 2) / 2).toLocaleString("en")} bytes</summary>
            <code className="selectable">{data}</code>
          </details>
        </Pair>
      </Pairs>
      <SignButtons sender={sender} prepared={prepared} onSent={onSent}>
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
      </SignButtons>
    </Stack>
  );
}

/** The buttons of a dialog's form before the one that sends. */
export function CancelButton({ onClose }: { onClose(): void }) {
  return (
    <Button variant="default" onClick={onClose}>
      Cancel
    </Button>
  );
}
