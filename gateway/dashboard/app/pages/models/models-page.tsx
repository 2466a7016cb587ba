import { NativeSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useMemo } from "react";
import { milliseconds } from "../../data/durations.ts";
import { useFilters } from "../../data/list/use-list.ts";
import { useWhole } from "../../data/list/use-whole.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { percentText } from "../../parts/chart/health-days.tsx";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState, Note } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { TypedFilter } from "../../parts/table/typed-filter.tsx";
import { attestationText, trustText } from "../../parts/value/attestation.ts";
import { serviceText } from "../../parts/value/service-names.ts";
import { PricePair } from "../../parts/value/unit-price.tsx";
import { type CatalogueModel, MODELS } from "./models-query.ts";
import { healthsOf, latencyOf, modalitiesOf, searchModels, uptimeOf } from "./models-search.ts";
import type { ModelsSearch } from "./models-url.ts";
import { TryLink } from "./try-link.tsx";

/** Every model, at most 500. */
const CATALOGUE = { query: MODELS, pick: ({ models }: ResultOf<typeof MODELS>) => models };

/** The catalogue: what models there are, what they cost, and how well they were answered. */
export function ModelsPage() {
  const [search, change] = useFilters<ModelsSearch>();
  const { rows: models, isCut, error, load } = useWhole(CATALOGUE);
  const found = useMemo(() => models && searchModels(models, search), [models, search]);
  const { symbol } = useNetwork();
  const columns = useMemo(() => columnsOf(symbol), [symbol]);
  const isFiltered = Boolean(search.q || search.modality || search.trust || search.provider);
  return (
    <Page
      title="Models"
      about="Lowest price per model. Uptime and time to first token: measured by this gateway, last 30 days."
    >
      <DataTable
        label="Models"
        columns={columns}
        rows={found}
        keyOf={({ modelId, serviceType }) => `${modelId} ${serviceType}`}
        error={error}
        onRetry={load}
        link={({ modelId }) => ({ to: "/models/$id", params: { id: modelId } })}
        sort={search.sort ?? "NAME"}
        onSort={(sort) => change({ sort } as Partial<ModelsSearch>)}
        canChoose
        filters={<Filters search={search} onChange={change} models={models ?? []} />}
        empty={
          isFiltered ? (
            <EmptyState title="No model matches.">
              <Link to="/models">Show all models.</Link>
            </EmptyState>
          ) : (
            <EmptyState title="No provider offers a model at the moment." />
          )
        }
      />
      {isCut && <Note>These are the first 500 models. Find others by their id in the URL: /models/ID.</Note>}
    </Page>
  );
}

type FiltersProps = {
  readonly search: ModelsSearch;
  readonly onChange: (change: Partial<ModelsSearch>) => void;
  readonly models: readonly CatalogueModel[];
};

function Filters({ search, onChange, models }: FiltersProps) {
  const modalities = new Set(
    models.flatMap((model) => {
      const { input, output } = modalitiesOf(model);
      return [...input, ...output];
    }),
  );
  const providers = new Set(models.flatMap((model) => model.providers.map(({ address }) => address)));
  const all = { value: "", label: "All" };
  return (
    <>
      <TypedFilter
        label="Search"
        type="search"
        size="sm"
        w={220}
        maxLength={100}
        value={search.q}
        placeholder="name, id or description"
        onFilter={(q) => onChange({ q })}
      />
      <NativeSelect
        label="Modality"
        data={[all, ...[...modalities].toSorted().map((value) => ({ value, label: value }))]}
        value={search.modality ?? ""}
        onChange={({ currentTarget }) => onChange({ modality: currentTarget.value || undefined })}
      />
      <NativeSelect
        label="Trust"
        data={[
          all,
          ...["STANDARD", "VERIFIED", "PRIVATE"].map((value) => ({ value, label: trustText(value) })),
        ]}
        value={search.trust ?? ""}
        onChange={({ currentTarget }) =>
          onChange({ trust: (currentTarget.value || undefined) as ModelsSearch["trust"] })
        }
      />
      <NativeSelect
        label="Provider"
        w={160}
        data={[
          all,
          ...[...providers]
            .toSorted()
            .map((value) => ({ value, label: `${value.slice(0, 8)}…${value.slice(-4)}` })),
        ]}
        value={search.provider ?? ""}
        onChange={({ currentTarget }) => onChange({ provider: currentTarget.value || undefined })}
      />
    </>
  );
}

const columnsOf = (symbol: string): readonly Column<CatalogueModel>[] => [
  {
    id: "model",
    name: "Model",
    sort: "NAME",
    cell: ({ name, modelId, serviceType }) => (
      <span className="two-lines">
        {name}
        <small>{name === modelId ? serviceText(serviceType) : modelId}</small>
      </span>
    ),
  },
  {
    id: "modalities",
    name: "Input → output",
    isHidden: true,
    cell: (model) => {
      const { input, output } = modalitiesOf(model);
      return `${input.join(", ")} → ${output.join(", ")}`;
    },
  },
  {
    id: "context",
    name: "Context",
    sort: "CONTEXT",
    isNumber: true,
    cell: ({ profile }) => (profile?.contextLength ? profile.contextLength.toLocaleString("en") : "–"),
  },
  {
    id: "price",
    name: `Input / output, ${symbol}`,
    sort: "PRICE",
    isNumber: true,
    cell: ({ pricing, serviceType }) => pricing && <PricePair pricing={pricing} serviceType={serviceType} />,
  },
  {
    id: "trust",
    name: "Trust",
    cell: ({ providers }) => (
      <span className="two-lines">
        {[...new Set(providers.map(({ trustMode }) => trustText(trustMode)))].join(", ")}
        <small>{[...new Set(providers.map(attestationText))].join("; ")}</small>
      </span>
    ),
  },
  {
    id: "uptime",
    name: "Uptime",
    sort: "UPTIME",
    isNumber: true,
    cell: ({ recentHealth, providers }) => {
      const uptime = uptimeOf(recentHealth, healthsOf(providers));
      return (
        <span className="two-lines">
          {uptime === undefined ? "–" : percentText(uptime)}
          <small>
            {recentHealth
              ? `${recentHealth.requestCount.toLocaleString("en")} requests`
              : uptime === undefined
                ? "no requests"
                : "recent requests"}
          </small>
        </span>
      );
    },
  },
  {
    id: "latency",
    name: "First token",
    sort: "LATENCY",
    isNumber: true,
    cell: ({ recentHealth, providers }) => {
      const ms = latencyOf(recentHealth, healthsOf(providers));
      return ms === undefined ? "–" : milliseconds(ms);
    },
  },
  { id: "try", name: "", cell: (model) => <TryLink model={model} /> },
];
