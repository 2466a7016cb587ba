import { graphql, useFragment } from "react-relay";
import type { chain_account$key } from "./__generated__/chain_account.graphql.ts";
import { OnChain } from "./view.tsx";

/** What the account has on the chain. It suspends until the fragment is delivered. */
export function Chain({ account }: { readonly account: chain_account$key }) {
  const { marketBalance, direct } = useFragment(
    graphql`
      fragment chain_account on Account {
        marketBalance
        direct {
          ledger {
            total
          }
        }
      }
    `,
    account,
  );
  return <OnChain market={marketBalance} ledger={direct.ledger?.total} />;
}
