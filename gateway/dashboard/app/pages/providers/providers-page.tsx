import type { ResultOf } from "gql.tada";
import { useEffect, useMemo, useState } from "react";
import { graphql } from "../../data/graph.ts";
import { useList } from "../../data/use-list.ts";
import { Amount } from "../../parts/amount.tsx";
import type { Column } from "../../parts/column.ts";
import { Hash } from "../../parts/hash.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Page } from "../../parts/page.tsx";
import { inWords, Pill, StateBadge } from "../../parts/state-badge.tsx";
import { Time } from "../../parts/time.tsx";
import { Health, MAX_SAMPLES, type Sample } from "./health.tsx";

const PROVIDERS = graphql(`
  query Providers($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    providers(first: $first, last: $last, after: $after, before: $before) {
      nodes {
        id address serviceType url verifiability trustMode routable models { modelId } pricing { input output }
        health { circuit latencyMs uptimePercent inFlight } onChain { updatedAt teeAcknowledged }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);
const EVERY_MS = 5_000;

/** The samples of each provider so far. They outlive the page component, and are lost on reload. */
const seen = new Map<string, readonly Sample[]>();

/** The providers, with their prices and health. */
export function ProvidersPage() {
  const list = useList({ query: PROVIDERS, size: 50, pick: ({ providers }) => providers });
  const { rows, refetch } = list;
  const [history, setHistory] = useState<ReadonlyMap<string, readonly Sample[]>>(seen);
  useEffect(() => {
    const timer = setInterval(refetch, EVERY_MS);
    return () => clearInterval(timer);
  }, [refetch]);
  useEffect(() => {
    if (!rows) return;
    const at = Date.now();
    for (const { id, routable, health } of rows) {
      const state = routable ? health.circuit : "OPEN";
      seen.set(id, [...(seen.get(id) ?? []), { at, latencyMs: health.latencyMs, state }].slice(-MAX_SAMPLES));
    }
    setHistory(new Map(seen));
  }, [rows]);
  const columns = useMemo(() => columnsOf(history), [history]);
  return (
    <Page title="Providers" about="Prices are per token of text, or per image. Latency is to the first byte.">
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

function columnsOf(history: ReadonlyMap<string, readonly Sample[]>): readonly Column<Provider>[] {
  return [
    { id: "provider", name: "Provider", cell: ({ address }) => <Hash of={address} withCopy /> },
    { id: "offers", name: "Offers", cell: (provider) => <Offers of={provider} /> },
    {
      id: "price",
      name: "Price in / out",
      isNumber: true,
      cell: ({ pricing }) => (
        <>
          <Amount neuron={pricing.input} places={18} />
          <br />
          <Amount neuron={pricing.output} places={18} />
        </>
      ),
    },
    {
      id: "trust",
      name: "Trust",
      cell: ({ trustMode, verifiability }) => (
        <span className="two-lines">
          {trustMode.toLowerCase()}
          <small>{verifiability}</small>
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
      name: "Latency",
      isNumber: true,
      cell: ({ health: { latencyMs } }) => (latencyMs === null ? "–" : `${latencyMs} ms`),
    },
    {
      id: "health",
      name: "Recent health",
      cell: ({ id }) => <Health samples={history.get(id) ?? []} everyMs={EVERY_MS} />,
    },
    {
      id: "answered",
      name: "Answered",
      isNumber: true,
      cell: ({ health: { uptimePercent } }) => (uptimePercent === null ? "–" : `${uptimePercent} %`),
    },
    { id: "inProgress", name: "In progress", isNumber: true, cell: ({ health }) => health.inFlight },
    {
      id: "updated",
      name: "Updated on chain",
      cell: ({ onChain }) => (onChain ? <Time at={onChain.updatedAt} /> : "a file"),
    },
  ];
}

function Offers({ of: { models, serviceType } }: { of: Provider }) {
  return (
    <span className="two-lines">
      {models.map(({ modelId }) => modelId).join(", ")}
      <small>{inWords(serviceType)}</small>
    </span>
  );
}
