import { Link } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import ArrowRightLeft from "lucide-react/icons/arrow-right-left";
import Copy from "lucide-react/icons/copy";
import FileText from "lucide-react/icons/file-text";
import Flame from "lucide-react/icons/flame";
import KeyRound from "lucide-react/icons/key-round";
import Sparkles from "lucide-react/icons/sparkles";
import UserMinus from "lucide-react/icons/user-minus";
import UserPlus from "lucide-react/icons/user-plus";
import UserX from "lucide-react/icons/user-x";
import type { ReactNode } from "react";
import { Pill } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { Transaction } from "../../parts/value/transaction.tsx";
import { Account } from "./account.tsx";
import { SealedKeys } from "./sealed-keys.tsx";
import { type Entry, shortId } from "./token-queries.ts";

const ICONS: Readonly<Record<Entry["kind"], LucideIcon>> = {
  MINTED: Sparkles,
  TRANSFERRED: ArrowRightLeft,
  BURNED: Flame,
  CLONED: Copy,
  KEY_SEALED: KeyRound,
  AUTHORIZED: UserPlus,
  REVOKED: UserMinus,
  AUTHORIZATIONS_CLEARED: UserX,
  DATA_SET: FileText,
};

/** Something that happened to a token: what, by whom, where on the chain, and when. */
export function TimelineEntry({ entry, contract }: { entry: Entry; contract: string }) {
  const { kind, reverted, blockNumber, transactionHash, seenAt, sealedKey } = entry;
  const Icon = ICONS[kind];
  const sentence = <Sentence of={entry} contract={contract} />;
  return (
    <li className={reverted ? "reverted" : undefined}>
      <span className="token-event-icon" aria-hidden="true">
        <Icon size={15} />
      </span>
      <div className="token-event-what">
        <p>
          {reverted ? <del>{sentence}</del> : <span>{sentence}</span>}
          {reverted && <Pill tone="bad">reverted by a reorg</Pill>}
        </p>
        <div className="token-event-more">
          <span>Block {blockNumber}</span>
          <Transaction hash={transactionHash} />
        </div>
        {sealedKey && !reverted && <SealedKeys keys={sealedKey.keys} />}
      </div>
      <div className="token-event-when">
        <Time at={seenAt} />
      </div>
    </li>
  );
}

function Sentence({
  of: { kind, from, to, newTokenId },
  contract,
}: {
  of: Entry;
  contract: string;
}): ReactNode {
  const sender = from && <Account of={from.address} />;
  const receiver = to && <Account of={to.address} />;
  switch (kind) {
    case "MINTED":
      return <>Minted to {receiver}</>;
    case "TRANSFERRED":
      return (
        <>
          Transferred from {sender} to {receiver}
        </>
      );
    case "BURNED":
      return <>Burned by {sender}</>;
    case "CLONED":
      return (
        <>
          Cloned for {receiver} as{" "}
          <Link to="/tokens/$contract/$id" params={{ contract, id: newTokenId ?? "" }}>
            #{shortId(newTokenId ?? "")}
          </Link>
        </>
      );
    case "KEY_SEALED":
      return <>Keys sealed for {receiver}</>;
    case "AUTHORIZED":
      return (
        <>
          {receiver} authorized by {sender}
        </>
      );
    case "REVOKED":
      return <>Authorization of {receiver} revoked</>;
    case "AUTHORIZATIONS_CLEARED":
      return "All authorizations revoked";
    case "DATA_SET":
      return "Data set";
  }
}
