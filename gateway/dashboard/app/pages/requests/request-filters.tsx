import { Button, Group, NativeSelect, Popover, Stack } from "@mantine/core";
import type { ResultOf } from "gql.tada";
import SlidersHorizontal from "lucide-react/icons/sliders-horizontal";
import { useQuery } from "urql";
import { useWhole } from "../../data/list/use-whole.ts";
import { graphql } from "../../data/query/graph.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { TypedFilter } from "../../parts/table/typed-filter.tsx";
import { TypedTime } from "../../parts/table/typed-time.tsx";
import { SERVICES } from "../../parts/value/service-names.ts";
import { inWords } from "../../parts/value/state-badge.tsx";
import { FILTERS, MORE_FILTERS, RANGES, type RequestSearch, STATUSES, VERDICTS } from "./request-search.ts";

const CHOICES = graphql(`
  query RequestChoices {
    viewer { account { apiKeys(last: 100) { nodes { id name } } } }
  }
`);

const MODELS = graphql(`
  query RequestModels($after: Cursor) {
    models(first: 100, after: $after) { nodes { modelId } pageInfo { hasNextPage endCursor } }
  }
`);
const EVERY_MODEL = { query: MODELS, pick: ({ models }: ResultOf<typeof MODELS>) => models };

type Props = {
  readonly search: RequestSearch;
  onFilter(change: Partial<RequestSearch>): void;
};
type Choice = { readonly value: string; readonly label: string };

/** The filters of the list: the usual ones, and the others behind a button. Each is part of the URL. */
export function RequestFilters({ search, onFilter }: Props) {
  const [{ data }] = useQuery({ query: CHOICES, requestPolicy: "cache-first" });
  const ids = new Set(useWhole(EVERY_MODEL).rows?.map(({ modelId }) => modelId));
  const models = [...ids].map((id) => ({ value: id, label: id }));
  const newestKeys = data?.viewer?.account?.apiKeys?.nodes.toReversed() ?? [];
  const keys = newestKeys.map(({ id, name }) => ({ value: id, label: name }));
  const isFiltered = FILTERS.some((name) => search[name] !== undefined);
  const clear = () => onFilter(Object.fromEntries(FILTERS.map((name) => [name, undefined])));
  const choose = (name: keyof RequestSearch) => (value: string | undefined) => onFilter({ [name]: value });
  return (
    <Group gap="xs" align="flex-end">
      <TypedFilter
        label="ID begins with"
        placeholder="req-…"
        w={110}
        value={search.id}
        pattern={/^[A-Za-z0-9._:-]{1,64}$/}
        hint="Letters, digits and . _ : -"
        onFilter={choose("id")}
      />
      <Choose
        name="State"
        any="All"
        value={search.status}
        choices={STATUSES.map((value) => ({ value, label: inWords(value) }))}
        onChoose={choose("status")}
      />
      <Choose name="Model" any="All" value={search.model} choices={models} onChoose={choose("model")} />
      <Choose name="Key" any="All" value={search.key} choices={keys} onChoose={choose("key")} />
      <Choose
        name="Time"
        any="All"
        value={search.range}
        choices={Object.entries(RANGES).map(([value, { text }]) => ({ value, label: text }))}
        onChoose={(range) =>
          onFilter({ range: range as RequestSearch["range"], from: undefined, before: undefined })
        }
      />
      {search.range === "custom" && <CustomRange search={search} onFilter={onFilter} />}
      <MoreFilters search={search} onFilter={onFilter} />
      {isFiltered && (
        <Button size="xs" variant="subtle" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

function Choose({
  name,
  any,
  value,
  choices,
  onChoose,
}: {
  name: string;
  any: string;
  value: string | undefined;
  choices: readonly Choice[];
  onChoose(value: string | undefined): void;
}) {
  // A value of the URL that is not listed, such as a key of the past, is shown as it is.
  const isListed = value === undefined || choices.some((choice) => choice.value === value);
  const data = [
    { value: "", label: any },
    ...choices,
    ...(isListed ? [] : [{ value, label: value.length > 20 ? `${value.slice(0, 18)}…` : value }]),
  ];
  return (
    <NativeSelect
      size="xs"
      label={name}
      // As wide before its choices are loaded as afterwards: the list below must not move.
      w={120}
      className={value === undefined ? undefined : "filter-on"}
      data={data}
      value={value ?? ""}
      onChange={({ currentTarget }) => onChoose(currentTarget.value || undefined)}
    />
  );
}

function CustomRange({ search, onFilter }: Props) {
  const input = (name: "from" | "before", label: string) => (
    <TypedTime
      type="datetime-local"
      label={label}
      value={search[name]}
      onFilter={(time) => onFilter({ [name]: time })}
    />
  );
  return (
    <>
      {input("from", "From")}
      {input("before", "Until")}
    </>
  );
}

function MoreFilters({ search, onFilter }: Props) {
  const { symbol } = useNetwork();
  const count = MORE_FILTERS.filter((name) => search[name] !== undefined).length;
  const amount = {
    pattern: /^\d{1,12}(?:\.\d{1,18})?$/,
    hint: "An amount such as 0.25.",
    placeholder: "any",
  };
  return (
    <Popover position="bottom-start" trapFocus returnFocus shadow="md" width={300}>
      <Popover.Target>
        <Button variant="default" size="xs" leftSection={<SlidersHorizontal size={14} />}>
          {count > 0 ? `More filters (${count})` : "More filters"}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <NativeSelect
            size="xs"
            label="Service"
            value={search.service ?? ""}
            data={[{ value: "", label: "any" }, ...toChoices(SERVICES)]}
            onChange={({ currentTarget }) =>
              onFilter({ service: (currentTarget.value || undefined) as RequestSearch["service"] })
            }
          />
          <NativeSelect
            size="xs"
            label="Evidence"
            value={search.verdict ?? ""}
            data={[{ value: "", label: "any" }, ...toChoices(VERDICTS)]}
            onChange={({ currentTarget }) =>
              onFilter({ verdict: (currentTarget.value || undefined) as RequestSearch["verdict"] })
            }
          />
          <TypedFilter
            label="Provider"
            placeholder="0x…"
            value={search.provider}
            pattern={/^0x[0-9A-Fa-f]{40}$/}
            hint="An address: 0x and 40 hexadecimal digits."
            onFilter={(provider) => onFilter({ provider })}
          />
          <TypedFilter
            label="Error code"
            placeholder="upstream_error"
            value={search.error}
            pattern={/^[a-z_]{1,64}$/}
            hint="A code such as upstream_error."
            onFilter={(error) => onFilter({ error })}
          />
          <TypedFilter
            label="Tag"
            placeholder="team=search"
            value={search.tag}
            pattern={/^[^=]{1,64}=.{1,512}$/}
            hint="A name and a value, such as team=search."
            onFilter={(tag) => onFilter({ tag })}
          />
          <TypedFilter
            label={`Cost from, in ${symbol}`}
            value={search.min}
            onFilter={(min) => onFilter({ min })}
            {...amount}
          />
          <TypedFilter
            label={`Cost up to, in ${symbol}`}
            value={search.max}
            onFilter={(max) => onFilter({ max })}
            {...amount}
          />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function toChoices(values: Readonly<Record<string, string>>): readonly Choice[] {
  return Object.entries(values).map(([value, label]) => ({ value, label }));
}
