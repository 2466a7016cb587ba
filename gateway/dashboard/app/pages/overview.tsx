import type { ResultOf } from "gql.tada";
import { lazy, Suspense, useMemo, useState } from "react";
import { useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { toChartValue } from "../amounts.ts";
import { graphql } from "../graph.ts";
import { Link } from "../router.tsx";
import { useNetwork, useSession } from "../session.tsx";
import { Badge, Card, Figure, Live, Loading, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";
import { useRefresh } from "../ui/use-refresh.ts";

const DayChart = lazy(async () => ({ default: (await import("../ui/chart.tsx")).DayChart }));

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
  const [moved, setMoved] = useState<ResultOf<typeof BALANCE>["balanceChanged"]["balance"]>();
  const { symbol } = useNetwork();
  const account = data?.viewer?.account;
  const refresh = useRefresh(() => refetch({ requestPolicy: "network-only" }));
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
  const balance = moved ?? account?.balance;
  const usage = account?.usage;
  const days = useMemo(() => spentByDay(from, usage?.daily ?? []), [from, usage?.daily]);
  const models = useMemo(() => countByModel(usage?.daily ?? []), [usage?.daily]);
  const requests = account?.requests?.nodes ?? [];
  const failed = requests.filter(({ status }) => status === "FAILED" || status === "ABORTED");
  return (
    <Page title="Overview" actions={<Live liveness={liveness} />}>
      <Outcome
        rows={account ? [account] : undefined}
        error={error}
        fetching={fetching}
        empty="No account found."
      >
        {() => (
          <>
            <dl className="figures">
              <Figure label="Available">{balance && <Money neuron={balance.available} />}</Figure>
              <Figure label="Held by requests in progress">
                {balance && <Money neuron={balance.held} />}
              </Figure>
              <Figure label={`Spent in ${DAYS} days`}>
                {usage?.stats && <Money neuron={usage.stats.cost} />}
              </Figure>
              <Figure label={`Requests in ${DAYS} days`}>{usage?.stats?.requestCount}</Figure>
            </dl>
            <div className="columns">
              <Card title="Spend per day">
                <Suspense fallback={<Loading />}>
                  <DayChart label="Spend" unit={symbol} days={days} />
                </Suspense>
              </Card>
              <Card title="Requests by model">
                <ModelBars models={models} />
              </Card>
            </div>
            <div className="columns">
              <Card title="Latest requests" aside={<Link to="/requests">All</Link>}>
                <Newest requests={requests.slice(0, NEWEST)} empty="No requests yet. Try the playground." />
              </Card>
              <Card title="Failures in the latest 50">
                <Newest requests={failed.slice(0, NEWEST)} empty="None." />
              </Card>
            </div>
          </>
        )}
      </Outcome>
      <Welcome isNew={requests.length === 0 && !fetching} />
    </Page>
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
  if (models.length === 0) return <p className="empty">No requests yet.</p>;
  return (
    <ul className="bars">
      {models.map(([model, count]) => (
        <li key={model}>
          <span>{model}</span>
          <progress value={count} max={most} aria-label={`Requests to ${model}`} />
          <span className="number">{count}</span>
        </li>
      ))}
    </ul>
  );
}

type Request = {
  readonly requestId: string;
  readonly createdAt: string;
  readonly modelId: string;
  readonly status: string;
  readonly errorCode: string | null;
  readonly cost: { readonly total: string } | null;
};

function Newest({ requests, empty }: { requests: readonly Request[]; empty: string }) {
  if (requests.length === 0) return <p className="empty">{empty}</p>;
  return (
    <Table label="Requests" heads={["When", "Model", "State", "Cost"]}>
      {requests.map(({ requestId, createdAt, modelId, status, errorCode, cost }) => (
        <tr key={requestId}>
          <td>
            <Link to={`/requests/${requestId}`}>
              <Time at={createdAt} />
            </Link>
          </td>
          <td>{modelId}</td>
          <td>
            <Badge state={status} /> {errorCode && <code>{errorCode}</code>}
          </td>
          <td>{cost && <Money neuron={cost.total} places={9} />}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The first three steps of a new user. */
function Welcome({ isNew }: { isNew: boolean }) {
  const { network } = useSession();
  if (!isNew) return null;
  return (
    <Card title="Your first request">
      <ol>
        <li>
          <Link to="/deposits">Deposit</Link>
          {network?.networkId === "devnet" && ": the development wallet has done so already"}.
        </li>
        <li>
          <Link to="/keys">Create an API key</Link> and give it to any OpenAI client with this base URL:{" "}
          <code className="selectable">{location.origin}/v1</code>
        </li>
        <li>
          Or try it here, in the <Link to="/playground">playground</Link>.
        </li>
      </ol>
    </Card>
  );
}
