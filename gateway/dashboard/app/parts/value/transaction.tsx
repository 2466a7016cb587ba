import { useNetwork } from "../../data/session/session.tsx";
import { Hash } from "./hash.tsx";

/** The hash of a transaction, with a link to the network's explorer if it has one. */
export function Transaction({ hash }: { hash: string }) {
  const { explorerUrl } = useNetwork();
  if (!explorerUrl) return <Hash of={hash} withCopy />;
  return (
    <a href={`${explorerUrl}/tx/${hash}`} rel="noreferrer" target="_blank">
      <Hash of={hash} />
    </a>
  );
}
