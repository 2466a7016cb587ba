import { useEffect, useState } from "react";
import { useQuery } from "urql";
import { graphql } from "../graph.ts";
import { usePages } from "../ui/pages.tsx";
import { Badge, Hash, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";

const PROVIDERS = graphql(`
  query Providers($after: Cursor) {
    providers(first: 50, after: $after) {
      nodes {
        id address serviceType url verifiability trustMode routable models { id } pricing { input output }
        health { circuit latencyMs uptimePercent inFlight } onChain { updatedAt teeAcknowledged }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const EVERY_MS = 5_000;
const KEPT = 60;

/** Who answers, at which price, and how they fare. */
export function ProvidersPage() {
  const pages = usePages();
  const [{ data, error, fetching }, ask] = useQuery({ query: PROVIDERS, variables: { after: pages.after } });
  const [history, setHistory] = useState<ReadonlyMap<string, readonly (number | null)[]>>(new Map());
  useEffect(() => {
    const timer = setInterval(() => ask({ requestPolicy: "network-only" }), EVERY_MS);
    return () => clearInterval(timer);
  }, [ask]);
  const rows = data?.providers.nodes;
  useEffect(() => {
    if (!rows) return;
    setHistory((known) => {
      const next = new Map(known);
      for (const { id, health } of rows)
        next.set(id, [...(known.get(id) ?? []), health.latencyMs].slice(-KEPT));
      return next;
    });
  }, [rows]);
  return (
    <Page
      title="Providers"
      about="Prices are per token of text, or per picture. Latency is to the first byte."
    >
      <Outcome rows={rows} error={error} fetching={fetching} empty="No provider is known.">
        {(found) => (
          <Table
            label="Providers"
            heads={[
              "Provider",
              "Offers",
              "In",
              "Out",
              "Trust",
              "State",
              "Latency",
              "Answered",
              "Under way",
              "Row of",
            ]}
          >
            {found.map((provider) => (
              <tr key={provider.id}>
                <td>
                  <Hash of={provider.address} />
                </td>
                <td>
                  {provider.models.map(({ id }) => id).join(", ")}
                  <br />
                  <small className="quiet">{provider.serviceType.toLowerCase().replaceAll("_", " ")}</small>
                </td>
                <td>
                  <Money neuron={provider.pricing.input} places={18} />
                </td>
                <td>
                  <Money neuron={provider.pricing.output} places={18} />
                </td>
                <td>
                  {provider.trustMode.toLowerCase()}
                  <br />
                  <small className="quiet">{provider.verifiability}</small>
                </td>
                <td>
                  {provider.routable ? (
                    <Badge state={provider.health.circuit} />
                  ) : (
                    <span className="badge bad">not routable</span>
                  )}
                </td>
                <td className="number">
                  {provider.health.latencyMs === null ? "–" : `${provider.health.latencyMs} ms`}
                  <Spark values={history.get(provider.id) ?? []} />
                </td>
                <td className="number">
                  {provider.health.uptimePercent === null ? "–" : `${provider.health.uptimePercent} %`}
                </td>
                <td className="number">{provider.health.inFlight}</td>
                <td>{provider.onChain ? <Time at={provider.onChain.updatedAt} /> : "a file"}</td>
              </tr>
            ))}
          </Table>
        )}
      </Outcome>
      {pages.pager(data?.providers.pageInfo)}
    </Page>
  );
}

const WIDTH = 80;
const HEIGHT = 18;

/** Latency since this page was opened, as a line. */
function Spark({ values }: { values: readonly (number | null)[] }) {
  const known = values.filter((value) => value !== null);
  const most = Math.max(1, ...known);
  const points = values
    .map((value, n) =>
      value === null ? undefined : `${(n / KEPT) * WIDTH},${HEIGHT - (value / most) * (HEIGHT - 2) - 1}`,
    )
    .filter((point) => point !== undefined);
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
    >
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" strokeWidth="1.5" />
    </svg>
  );
}
