import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useNetwork } from "../../data/session/session.tsx";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState, Failure } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import type { Account } from "./overview-query.ts";
import type { Range } from "./overview-range.ts";
import "./latest-requests.css";

type Request = NonNullable<Account["requests"]>["nodes"][number];

/** The newest requests, and those of the range that failed. */
export function LatestRequests({ account, range }: { account: Account; range: Range }) {
  const { symbol } = useNetwork();
  return (
    <div className="columns latest">
      <Section title="Latest requests" actions={<Link to="/requests">All requests</Link>} isFlush>
        <Requests
          label="Latest requests"
          columns={columnsOf(symbol)}
          requests={account.requests?.nodes}
          empty={
            <EmptyState title="No requests yet.">
              <Link to="/playground">Make one in the playground.</Link>
            </EmptyState>
          }
        />
      </Section>
      <Section title="Latest failures" isFlush>
        <Requests
          label="Failures"
          columns={failedColumnsOf(symbol)}
          requests={account.failures?.nodes}
          empty={<EmptyState title={`No request failed ${range.text}.`} />}
        />
      </Section>
    </div>
  );
}

const columnsOf = (symbol: string): readonly Column<Request>[] => [
  { id: "created", name: "Created", cell: ({ createdAt }) => <ClockTime at={createdAt} /> },
  { id: "model", name: "Model", cell: ({ modelId }) => <span className="user-text">{modelId}</span> },
  {
    id: "state",
    name: "State",
    cell: ({ status, errorCode }) => (
      <>
        <StateBadge state={status} /> {errorCode && <code>{errorCode}</code>}
      </>
    ),
  },
  {
    id: "cost",
    name: `Cost, ${symbol}`,
    isNumber: true,
    cell: ({ cost }) => cost && <Amount neuron={cost.total} isCell />,
  },
];

const failedColumnsOf = (symbol: string): readonly Column<Request>[] => [
  ...columnsOf(symbol).slice(0, 2),
  {
    id: "error",
    name: "Error",
    cell: ({ status, errorCode }) => (errorCode ? <code>{errorCode}</code> : inWords(status)),
  },
];

type Props = {
  readonly label: string;
  readonly columns: readonly Column<Request>[];
  /** Undefined if they could not be read. */
  readonly requests: readonly Request[] | undefined;
  readonly empty: ReactNode;
};

function Requests({ label, columns, requests, empty }: Props) {
  if (!requests) return <Failure reason="They could not be loaded. They are loaded again by themselves." />;
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={requests}
      keyOf={({ requestId }) => requestId}
      link={({ requestId }) => ({ to: "/requests/$id", params: { id: requestId } })}
      empty={empty}
    />
  );
}
