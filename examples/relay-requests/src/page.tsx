import { Suspense } from "react";
import { graphql, useLazyLoadQuery } from "react-relay";
import type { pageQuery } from "./__generated__/pageQuery.graphql.ts";
import { Chain } from "./chain.tsx";
import { Live } from "./live.tsx";
import { Requests } from "./requests.tsx";
import { OnChain, Problem } from "./view.tsx";

/** One request for the whole page. What is on the chain is read while the rest is shown. */
export function Page() {
  const { eventCursor, viewer } = useLazyLoadQuery<pageQuery>(
    graphql`
      query pageQuery {
        eventCursor
        viewer {
          account {
            ...live_account
            ...requests_account
            ...chain_account @defer
          }
        }
      }
    `,
    {},
  );
  const account = viewer?.account;
  if (!account) return <Problem error={new Error("The key has no account: use an mk- key.")} />;
  return (
    <>
      <Live account={account} after={eventCursor} />
      <Suspense fallback={<OnChain market={null} ledger={undefined} />}>
        <Chain account={account} />
      </Suspense>
      <Requests account={account} />
    </>
  );
}
