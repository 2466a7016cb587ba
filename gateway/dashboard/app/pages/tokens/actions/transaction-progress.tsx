import { Button, Loader } from "@mantine/core";
import Check from "lucide-react/icons/check";
import { useEffect, useRef, useState } from "react";
import { reasonOf } from "../../../data/query/graph.ts";
import type { Wallet } from "../../../data/wallet/wallet.ts";
import { DialogButtons } from "../../../parts/form/dialog.tsx";
import { Failure, Note } from "../../../parts/page/states.tsx";
import { Transaction } from "../../../parts/value/transaction.tsx";

type State = { readonly kind: "waiting" | "mined" } | { readonly kind: "failed"; readonly reason: string };

/** A transaction that was sent, until it is in a block. Closing it does not end the transaction. */
export function TransactionProgress({
  hash,
  wallet,
  onMined,
  onClose,
}: {
  hash: string;
  wallet: Wallet;
  onMined(): void;
  onClose(): void;
}) {
  const [state, setState] = useState<State>({ kind: "waiting" });
  const latest = useRef(onMined);
  useEffect(() => {
    latest.current = onMined;
  });
  useEffect(() => {
    const stopped = new AbortController();
    wallet.mined(hash, stopped.signal).then(
      () => {
        if (stopped.signal.aborted) return;
        setState({ kind: "mined" });
        latest.current();
      },
      (error: unknown) => {
        if (!stopped.signal.aborted) setState({ kind: "failed", reason: reasonOf(error) });
      },
    );
    return () => stopped.abort();
  }, [hash, wallet]);
  return (
    <>
      <ol className="transaction-steps">
        <li>
          <Check size={16} className="done" aria-hidden="true" />
          Sent by {wallet.name}: <Transaction hash={hash} />
        </li>
        <li className={state.kind === "mined" ? undefined : "waiting"}>
          {state.kind === "mined" ? (
            <Check size={16} className="done" aria-hidden="true" />
          ) : (
            state.kind === "waiting" && <Loader size={14} />
          )}
          <span role="status">{TEXTS[state.kind]}</span>
        </li>
      </ol>
      {state.kind === "failed" && <Failure reason={state.reason} />}
      {state.kind === "waiting" && (
        <Note>You can close this: the transaction appears in the timeline once it is in a block.</Note>
      )}
      <DialogButtons>
        <Button variant={state.kind === "mined" ? "filled" : "default"} onClick={onClose} data-autofocus>
          {state.kind === "mined" ? "Done" : "Close"}
        </Button>
      </DialogButtons>
    </>
  );
}

const TEXTS = {
  waiting: "Waiting for its block…",
  mined: "It is in a block.",
  failed: "It failed.",
} as const;
