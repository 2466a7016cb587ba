import { useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useQuery } from "urql";
import { isAnswerTo, useShown } from "../../data/query/answer-to.ts";
import { loadAgain } from "../../data/query/fetch-again.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { useRefresh } from "../../data/query/use-refresh.ts";
import { usePeriod } from "../../data/use-period.ts";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState, Loading, Outcome } from "../../parts/page/states.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { Live } from "../../parts/value/state-badge.tsx";
import { Figures } from "./figures.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { LatestRequests } from "./latest-requests.tsx";
import { BALANCE, type Balance, OVERVIEW } from "./overview-query.ts";
import { type Range, rangeOf } from "./overview-range.ts";

const SpendCard = lazy(async () => ({
  default: await loadAgain(async () => (await import("./spend-card.tsx")).SpendCard),
}));

const RangeControls = lazy(async () => ({
  default: await loadAgain(async () => (await import("./range-controls.tsx")).RangeControls),
}));

const HOUR_MS = 3_600_000;
const WEEK_DAYS = 7;
const GROUPS = { model: "MODEL", key: "API_KEY", provider: "PROVIDER" } as const;
/** Sums of an account that has many requests are not queried again for each of them. */
const REFRESH_MS = 2_000;

/** The account's balance, spending, speed and failures, and what a new user does first. */
export function OverviewPage() {
  const search = useSearch({ from: "/" });
  const hour = usePeriod(HOUR_MS);
  const chosen = useMemo(() => rangeOf(search, hour), [search, hour]);
  const variables = variablesOf(chosen, search.by ?? "model");
  const [read, refetch] = useQuery({ query: OVERVIEW, variables });
  const { data, error, fetching } = read;
  // Until the figures of the chosen range arrive, those of the range before are shown, and called so.
  const range = useShown(chosen, !data || isAnswerTo(read, variables));
  const [moved, setMoved] = useState<Balance>();
  const query = () => refetch({ requestPolicy: "network-only" });
  const refresh = useRefresh(query, REFRESH_MS);
  const isPartial = error !== undefined && data !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each incomplete result is followed by another query.
  useEffect(() => {
    if (isPartial) refresh();
  }, [error]);
  const liveness = useFollowed(
    BALANCE,
    {},
    {
      onEvent({ balanceChanged }) {
        setMoved(balanceChanged.balance);
        if (balanceChanged.cause !== "HOLD") refresh();
      },
      onGap() {
        setMoved(undefined);
        refresh();
      },
    },
  );
  // The balance of a subscription that has ended is older than the next one that is queried.
  const isFollowed = liveness.error === undefined;
  return (
    <Page
      title="Overview"
      about={
        <span className="base-url">
          Base URL <Hash of={`${location.origin}/v1`} withCopy isWhole />
        </span>
      }
      actions={
        <>
          <Live liveness={liveness} />
          <Suspense fallback={<div className="range-placeholder" />}>
            <RangeControls range={chosen} />
          </Suspense>
        </>
      }
    >
      <Outcome
        value={data && (data.viewer?.account ?? null)}
        error={error}
        fetching={fetching}
        onRetry={query}
        empty={<EmptyState title="No account found." />}
      >
        {(account) => (
          <>
            <FirstSteps account={account} />
            <Figures account={account} balance={(isFollowed && moved) || account.balance} range={range} />
            <Suspense fallback={<Loading rows={11} />}>
              <SpendCard account={account} range={range} />
              <LatestRequests account={account} range={range} />
            </Suspense>
          </>
        )}
      </Outcome>
    </Page>
  );
}

function variablesOf({ from, before, period }: Range, by: keyof typeof GROUPS) {
  const dayMs = 86_400_000;
  const week = new Date((Math.floor(Date.now() / dayMs) + 1 - WEEK_DAYS) * dayMs);
  const times = { from: from.toISOString(), before: before.toISOString() };
  return {
    ...times,
    week: week.toISOString(),
    by: period,
    groupBy: [GROUPS[by]],
    failed: { statuses: ["FAILED" as const], createdAt: times },
  };
}
