import { Progress } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { lazy, Suspense, useMemo, useState } from "react";
import { useQuery } from "urql";
import { useLive } from "../../../../../packages/client/src/react.ts";
import { toChartValue } from "../../data/amounts.ts";
import { loadAgain } from "../../data/fetch-again.ts";
import { graphql } from "../../data/graph.ts";
import { useNetwork } from "../../data/session.tsx";
import { useRefresh } from "../../data/use-refresh.ts";
import { Amount } from "../../parts/amount.tsx";
import type { Column } from "../../parts/column.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { Columns, Page, Section, Stat, Stats } from "../../parts/page.tsx";
import { Live, StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState, Loading, Outcome } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { FirstSteps } from "./first-steps.tsx";

const DayChart = lazy(async () => ({
  default: await loadAgain(async () => (await import("../../parts/day-chart.tsx")).DayChart),
}));

const OVERVIEW = graphql(`
  query Overview($from: DateTime!) {
    viewer {
      account {
        balance { available held deposit credit }
        usage(from: $from) {
          stats { requestCount inputTokens outputTokens cost }
          daily { date modelId stats { requestCount cost } }
        }
        requests(first: 50) {
          nodes { requestId createdAt modelId status errorCode cost { total } }
        }
      }
    }
  }
`);
const BALANCE = graphql(`
  subscription Balance($after: Cursor) {
    balanceChanged(after: $after) { cursor cause balance { available held deposit credit } }
  }
`);

const DAYS = 30;
const DAY_MS = 86_400_000;
const NEWEST = 5;

/** The account's balance, spending and failures. */
export function OverviewPage() {
  const [from] = useState(() => new Date(Math.floor(Date.now() / DAY_MS - DAYS + 1) * DAY_MS).toISOString());
  const [{ data, error, fetching }, refetch] = useQuery({ query: OVERVIEW, variables: { from } });
  const [moved, setMoved] = useState<Balance>();
  const query = () => refetch({ requestPolicy: "network-only" });
  const refresh = useRefresh(query);
  const liveness = useLive(
    BALANCE,
    {},
    {
      onEvent({ balanceChanged }) {
        setMoved(balanceChanged.balance);
        if (balanceChanged.cause !== "HOLD") refresh();
      },
    },
  );
  return (
    <Page title="Overview" actions={<Live liveness={liveness} />}>
      <Outcome
        value={data && (data.viewer?.account ?? null)}
        error={error}
        fetching={fetching}
        onRetry={query}
        empty={<EmptyState title="No account found." />}
      >
        {(account) => <Content account={account} balance={moved ?? account.balance} from={from} />}
      </Outcome>
    </Page>
  );
}

type Balance = ResultOf<typeof BALANCE>["balanceChanged"]["balance"];
type Account = NonNullable<NonNullable<ResultOf<typeof OVERVIEW>["viewer"]>["account"]>;

function Content({ account, balance, from }: { account: Account; balance: Balance | null; from: string }) {
  const { symbol } = useNetwork();
  const { usage } = account;
  const days = useMemo(() => spentByDay(from, usage?.daily ?? []), [from, usage?.daily]);
  const models = useMemo(() => countByModel(usage?.daily ?? []), [usage?.daily]);
  const requests = account.requests?.nodes ?? [];
  const failed = requests.filter(({ status }) => status === "FAILED" || status === "ABORTED");
  return (
    <>
      {requests.length === 0 && <FirstSteps />}
      <Stats>
        <Stat label="Available">{balance && <Amount neuron={balance.available} withUsd />}</Stat>
        <Stat label="Held by requests in progress">{balance && <Amount neuron={balance.held} />}</Stat>
        <Stat label={`Spent in ${DAYS} days`}>{usage?.stats && <Amount neuron={usage.stats.cost} />}</Stat>
        <Stat label={`Requests in ${DAYS} days`}>
          {Number(usage?.stats?.requestCount ?? 0).toLocaleString("en")}
        </Stat>
      </Stats>
      <Columns>
        <Section title="Spend per day" about={`In ${symbol}, of the last ${DAYS} days.`}>
          <div className="chart-box">
            <Suspense fallback={<Loading rows={5} />}>
              <DayChart label="Spend" unit={symbol} days={days} />
            </Suspense>
          </div>
        </Section>
        <Section title="Requests by model">
          <ModelBars models={models} />
        </Section>
      </Columns>
      <Columns>
        <Section title="Latest requests" actions={<Link to="/requests">All requests</Link>} isFlush>
          <Newest
            requests={requests.slice(0, NEWEST)}
            label="Latest requests"
            empty="No requests yet. Try the playground."
          />
        </Section>
        <Section title="Failures in the latest 50" isFlush>
          <Newest requests={failed.slice(0, NEWEST)} label="Failures" empty="None." />
        </Section>
      </Columns>
    </>
  );
}

type Day = {
  readonly date: string;
  readonly modelId: string;
  readonly stats: { requestCount: string; cost: string };
};

function spentByDay(from: string, daily: readonly Day[]) {
  const sums = new Map<string, bigint>();
  for (const { date, stats } of daily) sums.set(date, (sums.get(date) ?? 0n) + BigInt(stats.cost));
  return Array.from({ length: DAYS }, (_, n) => {
    const date = new Date(Date.parse(from) + n * DAY_MS).toISOString().slice(0, 10);
    return { date, value: toChartValue((sums.get(date) ?? 0n).toString()) };
  });
}

function countByModel(daily: readonly Day[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { modelId, stats } of daily)
    counts.set(modelId, (counts.get(modelId) ?? 0) + Number(stats.requestCount));
  return [...counts].toSorted(([, a], [, b]) => b - a).slice(0, 8);
}

function ModelBars({ models }: { models: readonly (readonly [string, number])[] }) {
  const most = Math.max(1, ...models.map(([, count]) => count));
  if (models.length === 0) return <EmptyState title="No requests yet." />;
  return (
    <ul className="bars">
      {models.map(([model, count]) => (
        <li key={model}>
          <span>{model}</span>
          <span className="figure">{count.toLocaleString("en")}</span>
          <Progress
            className="bar"
            size="sm"
            value={(count / most) * 100}
            aria-label={`Requests to ${model}`}
          />
        </li>
      ))}
    </ul>
  );
}

type Request = NonNullable<Account["requests"]>["nodes"][number];

const COLUMNS: readonly Column<Request>[] = [
  { id: "when", name: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: "model", name: "Model", cell: ({ modelId }) => modelId },
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
    name: "Cost",
    isNumber: true,
    cell: ({ cost }) => cost && <Amount neuron={cost.total} places={9} />,
  },
];

function Newest({ requests, label, empty }: { requests: readonly Request[]; label: string; empty: string }) {
  return (
    <DataTable
      label={label}
      columns={COLUMNS}
      rows={requests}
      keyOf={({ requestId }) => requestId}
      link={({ requestId }) => ({ to: "/requests/$id", params: { id: requestId } })}
      empty={empty}
    />
  );
}
