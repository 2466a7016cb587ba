import { useParams } from "@tanstack/react-router";
import { useQuery } from "urql";
import { milliseconds } from "../../data/durations.ts";
import { callSnippets, NO_SECRET } from "../../parts/call-snippets.ts";
import { CodeSnippet } from "../../parts/code-snippet.tsx";
import type { Column } from "../../parts/column.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { Hash } from "../../parts/hash.tsx";
import { HealthDays } from "../../parts/health-days.tsx";
import { Page, Pair, Pairs, Section } from "../../parts/page.tsx";
import { Pill, StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState, Outcome } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { priceUnit, UnitPrice } from "../../parts/unit-price.tsx";
import { MODEL, type ModelDetails } from "./models-query.ts";
import { modalitiesOf, SERVICES, TRUSTS } from "./models-search.ts";
import { TryLink } from "./try-link.tsx";

/** A model: what it can do, who offers it at which price and how well, and how to call it. */
export function ModelPage() {
  const { id } = useParams({ from: "/models/$id" });
  const [{ data, error, fetching }, refetch] = useQuery({ query: MODEL, variables: { id } });
  const model = data?.model;
  return (
    <Page
      title={model?.name ?? id}
      about={model?.profile?.description}
      actions={model && <TryLink model={model} />}
    >
      <Outcome
        value={data && (model ?? null)}
        error={error}
        fetching={fetching}
        onRetry={() => refetch({ requestPolicy: "network-only" })}
        empty={<EmptyState title="No provider offers this model." />}
      >
        {(found) => <Details model={found} />}
      </Outcome>
    </Page>
  );
}

function Details({ model }: { model: ModelDetails }) {
  const { modelId, serviceType, profile, supportedFormats, updatedAt, providers } = model;
  const { input, output } = modalitiesOf(model);
  const call = { origin: location.origin, secret: NO_SECRET, model: modelId, serviceType };
  const tokens = (count: number | null | undefined) => (count ? `${count.toLocaleString("en")} tokens` : "–");
  return (
    <>
      <Section
        title="Providers"
        about={`Prices per ${priceUnit(serviceType)}. Uptime and time to the first token are of the last 30 days.`}
        isFlush
      >
        <DataTable
          label="Providers of this model"
          columns={providerColumns(serviceType)}
          rows={providers}
          keyOf={({ id }) => id}
          empty="No provider offers this model at the moment."
        />
      </Section>
      <Section title="Call it" about="With a key of yours in place of sk-...">
        <CodeSnippet label="How to call it" snippets={callSnippets(call)} />
      </Section>
      <Section title="Details">
        <Pairs>
          <Pair name="Model id">
            <code>{modelId}</code>
          </Pair>
          <Pair name="Service">{SERVICES[serviceType] ?? serviceType}</Pair>
          <Pair name="Takes → gives">
            {input.join(", ")} → {output.join(", ")}
          </Pair>
          <Pair name="Context">{tokens(profile?.contextLength)}</Pair>
          <Pair name="Longest answer">{tokens(profile?.maxCompletionTokens)}</Pair>
          <Pair name="API formats">{supportedFormats.map((format) => format.toLowerCase()).join(", ")}</Pair>
          <Pair name="Parameters">{profile?.supportedParameters?.join(", ") ?? "not stated"}</Pair>
          <Pair name="Offers changed">
            <Time at={updatedAt} />
          </Pair>
        </Pairs>
      </Section>
    </>
  );
}

type Provider = ModelDetails["providers"][number];

function providerColumns(serviceType: string): readonly Column<Provider>[] {
  const price = (neuron: string) => <UnitPrice neuron={neuron} serviceType={serviceType} withUsd />;
  return [
    { id: "provider", name: "Provider", cell: ({ address }) => <Hash of={address} withCopy /> },
    { id: "input", name: "Input", isNumber: true, cell: ({ pricing }) => price(pricing.input) },
    { id: "output", name: "Output", isNumber: true, cell: ({ pricing }) => price(pricing.output) },
    {
      id: "trust",
      name: "Trust",
      cell: ({ trustMode, verifiability }) => (
        <span className="two-lines">
          {TRUSTS[trustMode] ?? trustMode}
          {verifiability && <small>{verifiability}</small>}
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
      id: "uptime",
      name: "Uptime",
      cell: ({ address, healthHistory }) => (
        <HealthDays days={healthHistory ?? []} of={`${address.slice(0, 8)}…`} />
      ),
    },
    {
      id: "latency",
      name: "First token",
      isNumber: true,
      cell: ({ recentHealth, health }) => {
        const ms = recentHealth?.p50Ms ?? health.latencyMs;
        return ms === null ? "–" : milliseconds(ms);
      },
    },
  ];
}
