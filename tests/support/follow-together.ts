import { startLoopClock } from "./attack/event-loop.ts";
import type { FollowBy, Followed } from "./followed.ts";
import { until } from "./until.ts";

/** The maximum time between clients' receptions of one event, milliseconds in which the event loop turns. */
export const MAX_LAG_MS = 200;
const EVENTS = 7;

/** The data that one client received. */
type Received = {
  readonly name: string;
  readonly ids: readonly string[];
  readonly failures: readonly unknown[];
  readonly isComplete: boolean;
  /** The cursor of the last event. */
  readonly cursor: string | undefined;
};

type Together = Omit<Followed, "onData" | "onFailure" | "onComplete"> & {
  readonly idOf: (data: unknown) => string;
  /** The cursor of an event: clients that reconnect then resume after the last one. */
  readonly cursorOf?: (data: unknown) => string;
};

/** Several clients that follow one subscription. */
export type ClientGroup = {
  readonly received: readonly Received[];
  /** When each client received an event, by the clock of the event loop. */
  readonly timesMs: (id: string) => readonly (number | undefined)[];
  readonly stop: () => Promise<void>;
};

/** Follows one subscription by several clients at once. */
export function openClientGroup(
  clients: Readonly<Record<string, FollowBy>>,
  { idOf, cursorOf, ...followed }: Together,
): ClientGroup {
  const clock = startLoopClock();
  const received = Object.keys(clients).map((name) => ({
    name,
    ids: [] as string[],
    failures: [] as unknown[],
    isComplete: false,
    cursor: undefined as string | undefined,
    times: new Map<string, number>(),
  }));
  const resumed = (own: { readonly cursor: string | undefined }) => ({
    get after() {
      return own.cursor;
    },
  });
  const stops = received.map((own) =>
    clients[own.name]?.({
      ...followed,
      ...(cursorOf && { variables: resumed(own) }),
      onData(data) {
        const id = idOf(data);
        own.cursor = cursorOf?.(data);
        own.ids.push(id);
        own.times.set(id, clock.nowMs());
      },
      onFailure: (reason) => void own.failures.push(reason),
      onComplete() {
        own.isComplete = true;
      },
    }),
  );
  return {
    received,
    timesMs: (id) => received.map(({ times }) => times.get(id)),
    async stop() {
      await Promise.all(stops.map((stop) => stop?.()));
      clock.stop();
    },
  };
}

/**
 * Causes events one after the other, each when all clients have received the one before. Resolves with their
 * ids, and with the time of each from the first client to the last, milliseconds in which the event loop
 * turned.
 */
export async function causeEvents(audience: ClientGroup, change: () => Promise<string>) {
  const ids: string[] = [];
  const lagsMs: number[] = [];
  for (let event = 0; event < EVENTS; event++) {
    const id = await change();
    ids.push(id);
    const timesMs = await until(() => {
      const known = audience.timesMs(id).filter((ms) => ms !== undefined);
      return known.length === audience.received.length && known;
    });
    lagsMs.push(Math.max(...timesMs) - Math.min(...timesMs));
  }
  return { ids, lagsMs };
}

/** Causes one event after the other until every client has received one. */
export async function untilAllReceive(audience: ClientGroup, change: () => Promise<string>): Promise<void> {
  await until(async () => {
    await change();
    return audience.received.every(({ ids }) => ids.length > 0);
  });
}
