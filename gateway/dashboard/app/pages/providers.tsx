import { useEffect, useState } from "react";
import { useQuery } from "urql";
import { graphql } from "../graph.ts";
import { Health, MAX_SAMPLES, type Sample } from "../ui/health.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Hash, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";

const PROVIDERS = graphql(`
  query Providers($after: Cursor) {
    providers(first: 50, after: $after) {
      nodes {
        id address serviceType url verifiability trustMode routable models { modelId } pricing { input output }
        health { circuit latencyMs uptimePercent inFlight } onChain { updatedAt teeAcknowledged }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const EVERY_MS = 5_000;

/** The samples of each provider so far. They outlive the page component, and are lost on reload. */
const seen = new Map<string, readonly Sample[]>();

/** The providers, with their prices and health. */
export function ProvidersPage() {
  const pages = usePages();
  const [{ data, error, fetching }, refetch] = useQuery({
    query: PROVIDERS,
    variables: { after: pages.after },
  });
  const [history, setHistory] = useState<ReadonlyMap<string, readonly Sample[]>>(seen);
  useEffect(() => {
    const timer = setInterval(() => refetch({ requestPolicy: "network-only" }), EVERY_MS);
    return () => clearInterval(timer);
  }, [refetch]);
  const rows = data?.providers?.nodes;
  useEffect(() => {
    if (!rows) return;
    const at = Date.now();
    for (const { id, routable, health } of rows) {
      const state = routable ? health.circuit : "OPEN";
      seen.set(id, [...(seen.get(id) ?? []), { at, latencyMs: health.latencyMs, state }].slice(-MAX_SAMPLES));
    }
    setHistory(new Map(seen));
  }, [rows]);
  return (
    <Page title="Providers" about="Prices are per token of text, or per image. Latency is to the first byte.">
      <Outcome rows={rows} error={error} fetching={fetching} empty="No providers found.">
        {(found) => (
          <Table
            label="Providers"
            heads={[
              "Provider",
              "Offers",
              "Price in / out",
              "Trust",
              "State",
              "Latency",
              "Recent health",
              "Answered",
              "In progress",
              "Updated on chain",
            ]}
          >
            {found.map((provider) => (
              <tr key={provider.id}>
                <td>
                  <Hash of={provider.address} />
                </td>
                <td className="whole">
                  {provider.models.map(({ modelId }) => modelId).join(", ")}
                  <br />
                  <small className="quiet">{provider.serviceType.toLowerCase().replaceAll("_", " ")}</small>
                </td>
                <td>
                  <Money neuron={provider.pricing.input} places={18} />
                  <br />
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
                </td>
                <td>
                  <Health samples={history.get(provider.id) ?? []} everyMs={EVERY_MS} />
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
      {pages.pager(data?.providers?.pageInfo)}
    </Page>
  );
}
