import { Progress } from "@mantine/core";
import { useCallback, useEffect } from "react";
import { useQuery } from "urql";
import { type List, useList } from "../../data/list/use-list.ts";
import { graphql } from "../../data/query/graph.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { useRefresh } from "../../data/query/use-refresh.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { Page, Section, Stat, Stats } from "../../parts/page/page.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { Live, StateBadge } from "../../parts/value/state-badge.tsx";
import { Transaction } from "../../parts/value/transaction.tsx";
import { DepositForm } from "./deposit-form.tsx";
import "./deposits.css";

const DEPOSITS = graphql(`
  query Deposits($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    viewer {
      account {
        deposits(first: $first, last: $last, after: $after, before: $before) {
          nodes { id amount status confirmations requiredConfirmations transactionHash seenAt creditedAt }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  }
`);
const BALANCE = graphql(`
  query DepositBalance { viewer { account { balance { deposit credit available held } } } }
`);
const MOVED = graphql(
  "subscription DepositBalanceMoved($after: Cursor) { balanceChanged(after: $after) { cursor cause } }",
);
const SEEN = graphql(
  "subscription DepositsSeen($after: Cursor) { depositChanged(after: $after) { cursor status } }",
);

/** The account's deposits, and how to make one. */
export function DepositsPage() {
  const list = useList({
    query: DEPOSITS,
    pick: ({ viewer }) => viewer?.account?.deposits,
    changes: SEEN,
  });
  const { symbol } = useNetwork();
  return (
    <Page title="Deposits" actions={list.liveness && <Live liveness={list.liveness} />}>
      <Balance of={list} />
      <DepositForm onSent={list.refetch} />
      <Section title="Deposits received" isFlush>
        <ListTable
          label="Deposits"
          list={list}
          columns={columnsOf(symbol)}
          keyOf={({ id }) => id}
          empty="No deposits yet."
        />
      </Section>
    </Page>
  );
}

function Balance({ of: { rows } }: { of: List<Deposit> }) {
  const [{ data }, query] = useQuery({ query: BALANCE });
  const refetch = useCallback(() => query({ requestPolicy: "network-only" }), [query]);
  // With the deposits, and with every request.
  useFollowed(MOVED, {}, { onEvent: useRefresh(refetch), onGap: refetch, keep: 1 });
  useEffect(() => {
    if (rows) refetch();
  }, [rows, refetch]);
  const balance = data?.viewer?.account?.balance;
  return (
    <div className="deposit-figures">
      <Stats>
        <Stat
          label="Available"
          hint={
            balance &&
            balance.held !== "0" && (
              <>
                <Amount neuron={balance.held} /> more is held by requests in progress
              </>
            )
          }
        >
          {balance && <Amount neuron={balance.available} withUsd />}
        </Stat>
        <Stat label="Unspent deposits">{balance && <Amount neuron={balance.deposit} />}</Stat>
        <Stat label="Credit">{balance && <Amount neuron={balance.credit} />}</Stat>
      </Stats>
    </div>
  );
}

type Deposit = {
  readonly id: string;
  readonly amount: string;
  readonly status: string;
  readonly confirmations: number;
  readonly requiredConfirmations: number;
  readonly transactionHash: string;
  readonly seenAt: string;
};

const columnsOf = (symbol: string): readonly Column<Deposit>[] => [
  { id: "created", name: "Created", cell: ({ seenAt }) => <ClockTime at={seenAt} /> },
  {
    id: "amount",
    name: `Amount, ${symbol}`,
    isNumber: true,
    cell: ({ amount }) => <Amount neuron={amount} places={2} isCell />,
  },
  { id: "state", name: "State", cell: ({ status }) => <StateBadge state={status} /> },
  { id: "confirmations", name: "Confirmations", cell: (deposit) => <Confirmations of={deposit} /> },
  {
    id: "transaction",
    name: "Transaction",
    cell: ({ transactionHash }) => <Transaction hash={transactionHash} />,
  },
];

function Confirmations({ of: { confirmations, requiredConfirmations: required } }: { of: Deposit }) {
  if (required === 0) return <span className="quiet">none required</span>;
  const shown = Math.min(confirmations, required);
  return (
    <>
      <Progress size="sm" value={(shown / required) * 100} aria-label="Confirmations" />
      <span className="figure">
        {shown} of {required}
      </span>
    </>
  );
}
