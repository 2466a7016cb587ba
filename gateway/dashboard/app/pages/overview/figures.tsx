import { milliseconds } from "../../data/durations.ts";
import { Amount } from "../../parts/amount.tsx";
import { Stat, Stats } from "../../parts/page.tsx";
import type { Account, Balance } from "./overview-query.ts";
import { type Range, runwayDays } from "./overview-range.ts";

const count = (value: string | number) => Number(value).toLocaleString("en");

/** The figures of the account: what it has now, and what it did in the range. */
export function Figures({
  account,
  balance,
  range,
}: {
  account: Account;
  balance: Balance | null;
  range: Range;
}) {
  const stats = account.usage?.stats;
  const { firstByte, cacheSaving } = account.usage?.performance ?? {};
  const requests = Number(stats?.requestCount ?? 0);
  const failed = account.failures?.totalCount ?? 0;
  return (
    <Stats>
      <Stat label="Available" hint={balance && runwayText(balance.available, account)}>
        {balance && <Amount neuron={balance.available} withUsd />}
      </Stat>
      <Stat
        label="Spent"
        hint={
          balance && balance.held !== "0" ? (
            <>
              <Amount neuron={balance.held} places={4} /> held now
            </>
          ) : (
            range.text
          )
        }
      >
        {stats && <Amount neuron={stats.cost} withUsd />}
      </Stat>
      <Stat
        label="Requests"
        hint={stats && `${compact(stats.inputTokens)} tokens in, ${compact(stats.outputTokens)} out`}
      >
        {stats && count(stats.requestCount)}
      </Stat>
      <Stat label="Failed" hint={failedText(failed, requests)}>
        {account.failures && count(failed)}
      </Stat>
      <Stat label="First token, p50" hint="half were faster">
        {firstByte ? milliseconds(firstByte.p50Ms) : "–"}
      </Stat>
      <Stat label="First token, p95" hint="19 of 20 were faster">
        {firstByte ? milliseconds(firstByte.p95Ms) : "–"}
      </Stat>
      <Stat label="Cost per request" hint="on average">
        {stats && requests > 0 ? (
          <Amount neuron={(BigInt(stats.cost) / BigInt(stats.requestCount)).toString()} />
        ) : (
          "–"
        )}
      </Stat>
      <Stat label="Saved by caches" hint="cached prompts cost less">
        {cacheSaving !== undefined && <Amount neuron={cacheSaving} />}
      </Stat>
    </Stats>
  );
}

function runwayText(available: string, account: Account): string {
  const days = runwayDays(available, account.week?.buckets ?? [], Date.now());
  if (days === undefined) return "nothing spent in 7 days";
  if (days > 365) return "at this rate, more than a year";
  if (days < 1) return "at this rate, less than a day";
  const whole = Math.floor(days);
  return `at this rate, ${whole} ${whole === 1 ? "day" : "days"}`;
}

function failedText(failed: number, requests: number): string {
  if (failed === 0) return requests === 0 ? "no requests yet" : "none";
  const percent = (failed / (failed + requests)) * 100;
  return `${percent < 0.1 ? "<0.1" : percent.toFixed(1)} % of all`;
}

function compact(tokens: string): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(
    Number(tokens),
  );
}
