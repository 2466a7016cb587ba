import type { FollowBy, Followed } from "./streaming-clients.ts";
import { until } from "./until.ts";

/** How far apart clients may hear of one event. */
export const MAX_LAG_MS = 200;
const EVENTS = 7;

type Together = Omit<Followed, "onData"> & {
  readonly idOf: (data: unknown) => string;
  /** Causes one event. */
  readonly change: () => Promise<void>;
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
    const last = new Set(arrivals.flatMap(({ order }) => order));
    const fresh = (order: readonly string[]) => order.filter((id) => !last.has(id));
    const lagsMs: number[] = [];
    for (let event = 0; event < EVENTS; event++) {
      await change();
      await until(() => arrivals.every(({ order }) => fresh(order).length > event));
      const id = fresh(arrivals[0]?.order ?? [])[event] ?? "";
      const times = arrivals.map(({ at }) => at.get(id) ?? Number.POSITIVE_INFINITY);
      lagsMs.push(Math.max(...times) - Math.min(...times));
    }
    const seen = arrivals.map(({ name, order }) => [name, fresh(order).slice(0, EVENTS)]);
    return { seen: Object.fromEntries(seen), lagsMs };
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}

/** One event after the other, until every client has heard of the newest. */
async function untilAllHear(
  arrivals: readonly { readonly order: readonly string[] }[],
  change: () => Promise<void>,
): Promise<void> {
  await until(async () => {
    await change();
    const newest = () => new Set(arrivals.map(({ order }) => order.at(-1)));
    return newest().size === 1 && !newest().has(undefined);
  });
}
