import type { FollowBy, Followed } from "./streaming-clients.ts";
import { until } from "./until.ts";

/** How far apart clients may hear of one event. */
export const MAX_LAG_MS = 200;
const EVENTS = 7;

type Together = Omit<Followed, "onData"> & {
  readonly idOf: (data: unknown) => string;
  /** Causes one event, and returns its id. */
  readonly change: () => Promise<string>;
};

/** What each client saw, and how long each event took from the first client to the last. */
type Outcome = {
  readonly seen: Readonly<Record<string, readonly string[]>>;
  readonly lagsMs: readonly number[];
};

/** Follows one subscription by several clients at once, and causes events once all of them hear. */
export async function followTogether(
  clients: Readonly<Record<string, FollowBy>>,
  { idOf, change, ...followed }: Together,
): Promise<Outcome> {
  const arrivals = Object.keys(clients).map((name) => ({
    name,
    at: new Map<string, number>(),
    order: [] as string[],
  }));
  const stops = Object.values(clients).map((follow, index) =>
    follow({
      ...followed,
      onData(data) {
        const id = idOf(data);
        arrivals[index]?.order.push(id);
        arrivals[index]?.at.set(id, performance.now());
      },
    }),
  );
  try {
    await untilAllHear(arrivals, change);
    const ids: string[] = [];
    const lagsMs: number[] = [];
    for (let event = 0; event < EVENTS; event++) {
      const id = await change();
      ids.push(id);
      await until(() => arrivals.every(({ at }) => at.has(id)));
      const times = arrivals.map(({ at }) => at.get(id) ?? Number.POSITIVE_INFINITY);
      lagsMs.push(Math.max(...times) - Math.min(...times));
    }
    const seen = arrivals.map(({ name, order }) => [name, order.filter((id) => ids.includes(id))]);
    return { seen: Object.fromEntries(seen), lagsMs };
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}

/** One event after the other, until every client has heard of one. */
async function untilAllHear(
  arrivals: readonly { readonly order: readonly string[] }[],
  change: () => Promise<string>,
): Promise<void> {
  await until(async () => {
    await change();
    return arrivals.every(({ order }) => order.length > 0);
  });
}
