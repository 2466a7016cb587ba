import { useParams } from "@tanstack/react-router";
import { useQuery } from "urql";
import { milliseconds } from "../../data/durations.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { HealthDays } from "../../parts/chart/health-days.tsx";
import { callSnippets, NO_SECRET } from "../../parts/code/call-snippets.ts";
import { CodeSnippet } from "../../parts/code/code-snippet.tsx";
import { Breadcrumb } from "../../parts/page/breadcrumb.tsx";
import { Page, Pair, Pairs, Section, Stat, Stats } from "../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { attestationText, trustText } from "../../parts/value/attestation.ts";
import { FullTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { serviceText } from "../../parts/value/service-names.ts";
import { Pill, StateBadge } from "../../parts/value/state-badge.tsx";
import { isPerToken, priceUnit, statedPrice, UnitPrice } from "../../parts/value/unit-price.tsx";
import { MODEL, type ModelDetails } from "./models-query.ts";
import { healthsOf, latencyOf, modalitiesOf, uptimeOf } from "./models-search.ts";
import { TryLink } from "./try-link.tsx";

/** A model: what it can do, who offers it at which price and how well, and how to call it. */
export function ModelPage() {
  const { id } = useParams({ from: "/models/$id" });
  return <OneModel key={id} id={id} />;
}

function OneModel({ id }: { readonly id: string }) {
  const [{ data, error, fetching }, refetch] = useQuery({ query: MODEL, variables: { id } });
  const model = data?.model;
  return (
    <Page
      title={model?.name ?? id}
      above={<Breadcrumb list="Models" to="/models" id={id} />}
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
  const { symbol } = useNetwork();
  const { input, output } = modalitiesOf(model);
  const call = { origin: location.origin, secret: NO_SECRET, model: modelId, serviceType };
  const tokens = (count: number | null | undefined) => (count ? `${count.toLocaleString("en")} tokens` : "–");
  return (
    <>
      <Figures model={model} />
      <Section title="Quickstart" about="Replace sk-... by one of your API keys.">
        <CodeSnippet label="Quickstart" snippets={callSnippets(call)} />
      </Section>
      <Section
        title="Providers"
        about={`Prices per ${priceUnit(serviceType)}. Uptime and time to first token: measured by this gateway, last 30 days.`}
        isFlush
      >
        <DataTable
          label="Providers of this model"
          columns={providerColumns(serviceType, symbol)}
          rows={providers}
          keyOf={({ id }) => id}
          empty="No provider offers this model at the moment."
        />
      </Section>
      <Section title="Details">
        <Pairs>
          <Pair name="Service">{serviceText(serviceType)}</Pair>
          <Pair name="Input → output">
            {input.join(", ")} → {output.join(", ")}
          </Pair>
          <Pair name="Context">{tokens(profile?.contextLength)}</Pair>
          <Pair name="Max output">{tokens(profile?.maxCompletionTokens)}</Pair>
          <Pair name="API formats">{supportedFormats.map((format) => format.toLowerCase()).join(", ")}</Pair>
          <Pair name="Parameters">{profile?.supportedParameters?.join(", ") ?? "not stated"}</Pair>
          <Pair name="Offers changed">
            <FullTime at={updatedAt} />
          </Pair>
        </Pairs>
      </Section>
    </>
  );
}

/** The lowest prices, the context and the speed of a model: what one compares models by. */
function Figures({
  model: { serviceType, pricing, profile, recentHealth, providers },
}: {
  model: ModelDetails;
}) {
  const latency = latencyOf(recentHealth, healthsOf(providers));
  const unit = `per ${priceUnit(serviceType)}`;
  const price = (neuron: string) => <UnitPrice neuron={neuron} serviceType={serviceType} withUsd />;
  const isCharged = (neuron: string | undefined) => neuron !== undefined && neuron !== "0";
  return (
    <Stats>
      {(isPerToken(serviceType) || isCharged(pricing?.input)) && (
        <Stat label="Input price" hint={unit}>
          {pricing && price(pricing.input)}
        </Stat>
      )}
      {isCharged(pricing?.output) && (
        <Stat label="Output price" hint={unit}>
          {pricing && price(pricing.output)}
        </Stat>
      )}
      <Stat label="Context" hint={profile?.contextLength ? "tokens" : "not stated by its provider"}>
        {profile?.contextLength?.toLocaleString("en") ?? "–"}
      </Stat>
      <Stat label="Time to first token" hint="median">
        {latency === undefined ? "–" : milliseconds(latency)}
      </Stat>
    </Stats>
  );
}

type Provider = ModelDetails["providers"][number];

function providerColumns(serviceType: string, symbol: string): readonly Column<Provider>[] {
  const price = (neuron: string) => (
    <Amount neuron={statedPrice(neuron, serviceType)} places={2} isCell withUsd />
  );
  return [
    { id: "provider", name: "Provider", cell: ({ address }) => <Hash of={address} withCopy /> },
    { id: "input", name: `Input, ${symbol}`, isNumber: true, cell: ({ pricing }) => price(pricing.input) },
    { id: "output", name: `Output, ${symbol}`, isNumber: true, cell: ({ pricing }) => price(pricing.output) },
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
      id: "uptime",
      name: "Uptime",
      cell: ({ address, healthHistory, recentHealth, health }) => (
        <HealthDays
          days={healthHistory ?? []}
          of={`${address.slice(0, 8)}…`}
          recent={uptimeOf(recentHealth, [health])}
        />
      ),
    },
    {
      id: "latency",
      name: "First token",
      isNumber: true,
      cell: ({ recentHealth, health }) => {
        const ms = latencyOf(recentHealth, [health]);
        return ms === undefined ? "–" : milliseconds(ms);
      },
    },
  ];
}
