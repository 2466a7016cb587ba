import { useMemo, useState, useSyncExternalStore } from "react";
import type { Client } from "../core/client.ts";
import {
  BalanceChangedDocument,
  type BalanceChangedSubscription,
  BalanceDocument,
  type BalanceQuery,
} from "../operations/graphql.ts";
import { useClient } from "./provider.tsx";
import { type StateSnapshot, StateStore } from "./state-store.ts";

/** A balance in neuron, as decimal text: `BigInt(available)`. */
export type BalanceAmounts = { readonly available: string; readonly held: string };

/** The caller's balance. */
export type UseBalance = Pick<StateSnapshot<unknown>, "state" | "error"> & {
  /** Undefined while it is loaded; null for a caller without an account. */
  readonly balance: BalanceAmounts | null | undefined;
};

/**
 * The caller's balance and every change of it. It is queried together with the cursor after which the changes follow,
 * so that none is missed in between.
 */
export function useBalance(options: { readonly client?: Client } = {}): UseBalance {
  const client = useClient(options.client);
  const [held, setHeld] = useState(() => ({ client, store: storeOf(client) }));
  let current = held;
  if (held.client !== client) {
    current = { client, store: storeOf(client) };
    setHeld(current);
  }
  const { store } = current;
  const { value, state, error } = useSyncExternalStore(store.subscribe, store.read, store.read);
  return useMemo(() => ({ balance: value, state, error }), [value, state, error]);
}

function storeOf(client: Client): StateStore<BalanceAmounts | null, BalanceChangedSubscription> {
  return new StateStore({
    async load(signal) {
      const { eventCursor, viewer } = await client.query<BalanceQuery, object>(
        BalanceDocument,
        {},
        { signal },
      );
      const account = viewer?.account;
      return { value: account?.balance ?? null, cursor: account ? eventCursor : null };
    },
    follow: (after, signal) => client.subscribe(BalanceChangedDocument, {}, { after, signal }),
    reduce: (_, { balanceChanged }) => balanceChanged.balance,
  });
}
