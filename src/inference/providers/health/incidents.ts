import { type Offer, offerKey } from "../offer.ts";
import type { FailingHour } from "./health-history.store.ts";

/** A provider's model that a process sends no requests to, since when. */
export type OpenCircuit = Offer & { readonly openedAt: Date };

/** A time in which a provider's model failed. */
export type Incident = Offer & {
  readonly startedAt: Date;
  /** The end of its last hour; null while it lasts. */
  readonly endedAt: Date | null;
  /** The share of requests that failed in its hours, 0 to 1; undefined if no hour of it is known yet. */
  readonly failedShare: number | undefined;
};

type Draft = Offer & { startMs: number; endMs: number; requests: number; failures: number; isOpen: boolean };

const HOUR_MS = 3_600_000;

/**
 * The incidents of providers, newest first: adjacent hours in which most requests failed are one incident, which is
 * ongoing if its last hour has not ended or the circuit is open. An open circuit without such an hour is an ongoing
 * incident, too.
 */
export function incidentsOf(
  hours: readonly FailingHour[],
  circuits: readonly OpenCircuit[],
  now: Date,
): readonly Incident[] {
  const last = new Map<string, Draft>();
  const drafts: Draft[] = [];
  for (const hour of hours.toSorted((a, b) => a.startsAt.getTime() - b.startsAt.getTime())) {
    const startMs = hour.startsAt.getTime();
    const known = last.get(offerKey(hour));
    if (known && known.endMs >= startMs) {
      known.endMs = startMs + HOUR_MS;
      known.requests += hour.requests;
      known.failures += hour.failures;
      continue;
    }
    const { provider, model, requests, failures } = hour;
    const draft = {
      ...{ provider, model, startMs, endMs: startMs + HOUR_MS, requests, failures },
      isOpen: false,
    };
    last.set(offerKey(hour), draft);
    drafts.push(draft);
  }
  for (const { provider, model, openedAt } of circuits) {
    const startMs = openedAt.getTime();
    const known = last.get(offerKey({ provider, model }));
    if (known && known.endMs >= startMs) known.isOpen = true;
    else drafts.push({ provider, model, startMs, endMs: startMs, requests: 0, failures: 0, isOpen: true });
  }
  return drafts
    .toSorted((a, b) => b.startMs - a.startMs)
    .map(({ provider, model, startMs, endMs, requests, failures, isOpen }) => ({
      ...{ provider, model, startedAt: new Date(startMs) },
      endedAt: isOpen || endMs > now.getTime() ? null : new Date(endMs),
      failedShare: requests === 0 ? undefined : failures / requests,
    }));
}
