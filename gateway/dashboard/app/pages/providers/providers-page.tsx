import type { ResultOf } from "gql.tada";
import { useEffect, useMemo, useState } from "react";
import { useList } from "../../data/list/use-list.ts";
import { graphql } from "../../data/query/graph.ts";
import { usePolling } from "../../data/query/use-polling.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { Page } from "../../parts/page/page.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { attestationText, trustText } from "../../parts/value/attestation.ts";
import { Hash } from "../../parts/value/hash.tsx";
import { serviceText } from "../../parts/value/service-names.ts";
import { Pill, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { PricePair } from "../../parts/value/unit-price.tsx";
import { Health, MAX_SAMPLES, type Sample } from "./health.tsx";

const PROVIDERS = graphql(`
  query Providers($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    providers(first: $first, last: $last, after: $after, before: $before) {
      nodes {
        id address serviceType url verifiability attestation { passed } trustMode routable models { modelId } pricing { input output }
        health { circuit latencyMs uptimePercent inFlight } onChain { updatedAt teeAcknowledged }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);
const EVERY_MS = 5_000;

/** The samples of each provider so far. They outlive the page component, and are lost on reload. */
const seen = new Map<string, readonly Sample[]>();
/** The rows of the newest samples. */
let sampled: readonly unknown[] | undefined;

/** The providers, with their prices and health. */
export function ProvidersPage() {
  const list = useList({ query: PROVIDERS, size: 50, pick: ({ providers }) => providers });
  const { rows, refetch } = list;
  const [history, setHistory] = useState<ReadonlyMap<string, readonly Sample[]>>(seen);
  usePolling(refetch, EVERY_MS);
  useEffect(() => {
    // Rows of an earlier visit, which are shown until the first answer, were sampled then.
    if (!rows || rows === sampled) return;
    sampled = rows;
    const at = Date.now();
    for (const { id, routable, health } of rows) {
      const state = routable ? health.circuit : "OPEN";
      seen.set(id, [...(seen.get(id) ?? []), { at, latencyMs: health.latencyMs, state }].slice(-MAX_SAMPLES));
    }
    setHistory(new Map(seen));
  }, [rows]);
  const { symbol } = useNetwork();
  const columns = useMemo(() => columnsOf(history, symbol), [history, symbol]);
  return (
    <Page
      title="Providers"
      about="Prices, health and attestation of every provider, as this gateway sees them now."
    >
      <ListTable
        label="Providers"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        canChoose
        empty="No providers found."
      />
    </Page>
  );
}

type Provider = NonNullable<ResultOf<typeof PROVIDERS>["providers"]>["nodes"][number];

function columnsOf(
  history: ReadonlyMap<string, readonly Sample[]>,
  symbol: string,
): readonly Column<Provider>[] {
  return [
    { id: "provider", name: "Provider", cell: ({ address }) => <Hash of={address} withCopy /> },
    { id: "offers", name: "Offers", cell: (provider) => <Offers of={provider} /> },
    {
      id: "price",
      name: `Input / output, ${symbol}`,
      isNumber: true,
      cell: ({ pricing, serviceType }) => <PricePair pricing={pricing} serviceType={serviceType} />,
    },
    {
      id: "trust",
      name: "Trust",
      cell: (provider) => (
        <span className="two-lines">
          {trustText(provider.trustMode)}
          <small>{attestationText(provider)}</small>
        </span>
      ),
    },
    {
      id: "state",
      name: "State",
      cell: ({ routable, health }) =>
        routable ? <StateBadge state={health.circuit} /> : <Pill tone="bad">not routable</Pill>,
    },
    {
      id: "latency",
      name: "First token",
      isNumber: true,
      cell: ({ health: { latencyMs } }) => (latencyMs === null ? "–" : `${latencyMs} ms`),
    },
    {
      id: "uptime",
      name: "Uptime",
      isNumber: true,
      cell: ({ health: { uptimePercent } }) => (uptimePercent === null ? "–" : `${uptimePercent}%`),
    },
    {
      id: "health",
      name: "Recent health",
      cell: ({ id }) => <Health samples={history.get(id) ?? []} />,
    },
    {
      id: "inProgress",
      name: "In progress",
      isNumber: true,
      isHidden: true,
      cell: ({ health }) => health.inFlight,
    },
    {
      id: "updated",
      name: "Updated on chain",
      isHidden: true,
      cell: ({ onChain }) => (onChain ? <Time at={onChain.updatedAt} /> : "not on chain"),
    },
  ];
}

function Offers({ of: { models, serviceType } }: { of: Provider }) {
  return (
    <span className="two-lines">
      {models.map(({ modelId }) => modelId).join(", ")}
      <small>{serviceText(serviceType)}</small>
    </span>
  );
}
