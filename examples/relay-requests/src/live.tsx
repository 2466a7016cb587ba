import { useMemo, useState } from "react";
import { graphql, useFragment, useSubscription } from "react-relay";
import type { live_account$key } from "./__generated__/live_account.graphql.ts";
import type { liveSubscription } from "./__generated__/liveSubscription.graphql.ts";
import { LiveRow } from "./view.tsx";

const BALANCE = graphql`
  fragment live_account on Account {
    balance {
      available
      held
    }
  }
`;
const CHANGES = graphql`
  subscription liveSubscription($after: Cursor) {
    balanceChanged(after: $after) {
      id
      cursor
      account {
        ...live_account
      }
      request {
        requestId
        createdAt
        modelId
        status
        cost {
          total
        }
      }
    }
  }
`;

type LiveProps = {
  readonly account: live_account$key;
  /** The cursor that was read with the account: no change after it is missed. */
  readonly after: string | null | undefined;
};
type Charged = NonNullable<liveSubscription["response"]["balanceChanged"]>["request"];

/** The balance, which each event changes in the store, and what was charged last. */
export function Live({ account, after }: LiveProps) {
  const { balance } = useFragment(BALANCE, account);
  const [charged, setCharged] = useState<Charged>();
  const config = useMemo(
    () => ({
      subscription: CHANGES,
      variables: { after },
      onNext: (event: liveSubscription["response"] | null | undefined) => {
        if (event?.balanceChanged?.request) setCharged(event.balanceChanged.request);
      },
    }),
    [after],
  );
  useSubscription<liveSubscription>(config);
  return <LiveRow balance={balance} charged={charged} />;
}
