import { useSession } from "../../data/session/session.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { isSame } from "./token-queries.ts";

/** An account by its address, and whether it is the reader's own. */
export function Account({ of, withCopy = false }: { of: string; withCopy?: boolean }) {
  const { address } = useSession();
  return (
    <span className="token-account">
      <Hash of={of} withCopy={withCopy} />
      {isSame(of, address) && <span className="quiet"> you</span>}
    </span>
  );
}
