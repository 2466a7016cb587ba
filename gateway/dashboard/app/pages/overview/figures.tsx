import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { toUsd } from "../../data/amounts.ts";
import { milliseconds } from "../../data/durations.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { useUsdPerToken } from "../../data/token-price.tsx";
import { Stat, Stats } from "../../parts/page/page.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import type { Account, Balance } from "./overview-query.ts";
import { type Range, runwayDays } from "./overview-range.ts";
import "./figures.css";

const UNIT = 10n ** 18n;
const count = (value: string | number) => Number(value).toLocaleString("en");

/** The figures of the account: its money first, then what it did in the range. */
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
    <div className="overview-figures">
      <Stats>
        <Stat
          label="Available"
          hint={
            <>
              {balance && runwayText(balance.available, account)}
              <Rate />
              <AddFunds />
            </>
          }
        >
          {balance && <Amount neuron={balance.available} withUsd />}
        </Stat>
        <Stat
          label="Spent"
          hint={
            <>
              {range.text}
              {stats && requests > 0 && (
                <span>
                  <Amount neuron={(BigInt(stats.cost) / BigInt(stats.requestCount)).toString()} /> per request
                </span>
              )}
              {balance && balance.held !== "0" && (
                <span>
                  <Amount neuron={balance.held} /> held by requests in progress
                </span>
              )}
            </>
          }
        >
          {stats && <Amount neuron={stats.cost} withUsd />}
        </Stat>
        <Stat
          label="Requests"
          hint={stats && `${compact(stats.inputTokens)} input, ${compact(stats.outputTokens)} output tokens`}
        >
          {stats && count(stats.requestCount)}
        </Stat>
        <Stat
          label="Failed"
          hint={account.failures && `${count(failed)} of ${count(failed + requests)} requests`}
        >
          {account.failures && failureRate(failed, requests)}
        </Stat>
        <Stat label="Time to first token, p50" hint={firstByte && `p95: ${milliseconds(firstByte.p95Ms)}`}>
          {firstByte ? milliseconds(firstByte.p50Ms) : "–"}
        </Stat>
        <Stat label="Saved by caching" hint="by prompt caches of providers">
          {cacheSaving !== undefined && <Amount neuron={cacheSaving} />}
        </Stat>
      </Stats>
    </div>
  );
}

/** The price of a token, where dollars are shown. */
function Rate() {
  const { symbol } = useNetwork();
  const usdPerToken = useUsdPerToken();
  if (usdPerToken === undefined) return null;
  return (
    <span>
      1 {symbol} = {toUsd(UNIT, usdPerToken)}
    </span>
  );
}

function AddFunds() {
  return (
    <Button
      size="compact-sm"
      renderRoot={(props) => <Link to="/deposits" {...props} className={`${props.className} add-funds`} />}
    >
      Add funds
    </Button>
  );
}

function runwayText(available: string, account: Account): string {
  const days = runwayDays(available, account.week?.buckets ?? [], Date.now());
  if (days === undefined) return "nothing spent in 7 days";
  if (days > 365) return "Lasts more than a year at this rate";
  if (days < 1) return "Lasts less than a day at this rate";
  const whole = Math.floor(days);
  return `Lasts ${whole} ${whole === 1 ? "day" : "days"} at this rate`;
}

/** The share of failed requests: those that failed are not among the requests of the usage. */
function failureRate(failed: number, requests: number): string {
  if (failed + requests === 0) return "–";
  const percent = (failed / (failed + requests)) * 100;
  if (percent === 0) return "0%";
  return percent < 0.1 ? "<0.1%" : `${percent.toFixed(1)}%`;
}

function compact(tokens: string): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(
    Number(tokens),
  );
}
