import { useQuery, useSubscription } from "urql";
import type { BalanceChangesSubscription } from "./graphql/graphql.ts";
import { graphql } from "./graphql/index.ts";
import { LiveRow, OnChain, Problem } from "./view.tsx";

const SUMMARY = graphql(`
  query Summary {
    eventCursor
    viewer {
      account {
        id
        balance { available held }
        ... @defer { marketBalance direct { ledger { total } } }
      }
    }
  }
`);
const CHANGES = graphql(`
  subscription BalanceChanges($after: Cursor) {
    balanceChanged(after: $after) {
      id
      cursor
      account { id balance { available held } }
      request { id requestId createdAt modelId status cost { total } }
    }
  }
`);

/** The balance, and what is on the chain, which is read while the balance is shown. */
export function Summary() {
  const [{ data, error }] = useQuery({ query: SUMMARY });
  const account = data?.viewer?.account;
  return (
    <>
      <Problem error={error} />
      {data?.eventCursor && <Live balance={account?.balance} after={data.eventCursor} />}
      <OnChain market={account?.marketBalance} ledger={account?.direct?.ledger?.total} />
    </>
  );
}

type LiveProps = {
  readonly balance: Parameters<typeof LiveRow>[0]["balance"];
  /** The cursor that was read with the balance: no change after it is missed. */
  readonly after: string;
};

type Changes = BalanceChangesSubscription;
type Charged = Changes["balanceChanged"]["request"];

/** The balance, which each event changes in the cache, and what was charged last. */
function Live({ balance, after }: LiveProps) {
  const [{ data: charged }] = useSubscription<Changes, Charged, { after: string }>(
    { query: CHANGES, variables: { after } },
    (before, { balanceChanged: { request } }) => request ?? before ?? null,
  );
  return <LiveRow balance={balance} charged={charged} />;
}
