import { Group, SegmentedControl } from "@mantine/core";
import { useFilters } from "../../data/list/use-list.ts";
import { TypedTime } from "../../parts/table/typed-time.tsx";
import { dateOf, type OverviewSearch, type Range } from "./overview-range.ts";

const RANGES = [
  { value: "24h", label: "24 h" },
  { value: "7d", label: "7 d" },
  { value: "30d", label: "30 d" },
  { value: "custom", label: "Custom" },
];

/** Chooses the range of the page, which is part of its URL. */
export function RangeControls({ range }: { range: Range }) {
  const [search, change] = useFilters<OverviewSearch>();
  const [from, to] = [dateOf(range.from.getTime()), dateOf(range.before.getTime() - 1)];
  const choose = (value: string) =>
    change(
      value === "custom"
        ? { range: "custom", from, to }
        : { range: value as "24h" | "7d" | "30d", from: undefined, to: undefined },
    );
  // An empty date changes nothing.
  const set = (field: "from" | "to") => (value: string | undefined) => value && change({ [field]: value });
  return (
    <Group gap="xs">
      {search.range === "custom" && (
        <>
          <TypedTime
            type="date"
            aria-label="From, the first day in UTC"
            max={to}
            value={from}
            onFilter={set("from")}
          />
          <TypedTime
            type="date"
            aria-label="To, the last day in UTC"
            max={dateOf(Date.now())}
            value={to}
            onFilter={set("to")}
          />
        </>
      )}
      <SegmentedControl
        size="xs"
        aria-label="Range"
        data={RANGES}
        value={search.range ?? "7d"}
        onChange={choose}
      />
    </Group>
  );
}
