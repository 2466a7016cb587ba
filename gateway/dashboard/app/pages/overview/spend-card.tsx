import { SegmentedControl } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useFilters } from "../../data/list/use-list.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { StackedChart } from "../../parts/chart/stacked-chart.tsx";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState, Failure } from "../../parts/page/states.tsx";
import type { Account, Bucket } from "./overview-query.ts";
import { type OverviewSearch, type Range, startsOf } from "./overview-range.ts";
import { type Group, spendingOf, totalOf } from "./spending.ts";

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const HOUR = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const nameOfDay = (start: number) => DAY.format(start);
const nameOfHour = (start: number) => HOUR.format(start);

const DIVISIONS = [
  { value: "model", label: "Model" },
  { value: "key", label: "Key" },
  { value: "provider", label: "Provider" },
];

/** Spending by hours or days, stacked by what the user chooses. */
export function SpendCard({ account, range }: { account: Account; range: Range }) {
  const { symbol } = useNetwork();
  const [{ by = "model" }, change] = useFilters<OverviewSearch>();
  const [from, before] = [range.from.getTime(), range.before.getTime()];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same times are the same range.
  const starts = useMemo(() => startsOf(range), [from, before]);
  const buckets = account.usage?.buckets;
  const keys = account.apiKeys?.nodes;
  const series = useMemo(() => {
    const names = new Map(keys?.map(({ keyId, name }) => [keyId, name]));
    const groupOf = ({ modelId, apiKeyId, providerAddress }: Bucket): Group => ({
      id: modelId ?? providerAddress ?? apiKeyId ?? "",
      name: modelId ?? shortAddress(providerAddress) ?? keyName(apiKeyId, names),
    });
    return spendingOf(buckets ?? [], starts, groupOf);
  }, [buckets, keys, starts]);
  const total = useMemo(() => totalOf(buckets ?? [], starts), [buckets, starts]);
  const period = range.period === "HOUR" ? "hour" : "day";
  return (
    <Section
      title={`Spend per ${period}`}
      about={`${symbol} per ${period} (UTC), ${range.text.replace(/^in the /, "")}`}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Divide by"
          data={DIVISIONS}
          value={by}
          onChange={(value) => change({ by: value as NonNullable<OverviewSearch["by"]> })}
        />
      }
    >
      {!buckets ? (
        <Failure reason="The spending could not be loaded. It is loaded again by itself." />
      ) : series.length === 0 ? (
        <EmptyState title={`Nothing was spent ${range.text}.`}>
          <Link to="/playground">Try a model in the playground.</Link>
        </EmptyState>
      ) : (
        <StackedChart
          label="Spend"
          unit={symbol}
          starts={starts}
          nameOf={range.period === "HOUR" ? nameOfHour : nameOfDay}
          series={series}
          total={total}
        />
      )}
    </Section>
  );
}

function shortAddress(address: string | null): string | undefined {
  return address === null ? undefined : `${address.slice(0, 8)}…${address.slice(-4)}`;
}

function keyName(id: string | null, names: ReadonlyMap<string, string>): string {
  if (id === null) return "Wallet session";
  return names.get(id) ?? `Key ${id.slice(0, 8)}…`;
}
