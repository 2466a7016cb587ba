import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { scaled } from "../../support/machine.ts";
import { type Endpoint, openStream, type Result, run, type Stream, type Transport } from "./transports.ts";

/** A server and one of its subscriptions, which a mutation makes emit an event. */
export type ResumeTarget = Endpoint & {
  /** With a variable `$after`, one root field, and `id` and `cursor` of its events. */
  readonly subscription: string;
  /** Causes at least one event; `{n}` stands for a new text each time. */
  readonly cause: string;
  /** A query of one field: the current position. Optional in the protocol. */
  readonly position?: string | undefined;
  /** A cursor whose events are no longer kept. */
  readonly expiredCursor?: string | undefined;
  readonly transports: readonly Transport[];
  /** How long an event may take on an idle machine. */
  readonly limitMs?: number | undefined;
};

/** The outcome of one check. */
export type Check = {
  readonly promise: string;
  readonly transport: Transport;
  /** Undefined if the promise is kept. */
  readonly failure: string | undefined;
};

type Event = { readonly id: string; readonly cursor: string };
type Place = { readonly target: ResumeTarget; readonly transport: Transport; readonly streams: Stream[] };

const CUTS = 5;
/** How long an event may take on an idle machine, by default. */
const LIMIT_MS = 20_000;
let limitMs = LIMIT_MS;
/** A position of nowhere. */
const NO_CURSOR = "x";

/** The promises of the protocol, by the names in docs/resumable-subscriptions.md. */
const PROMISES: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  "R1 every event has an id and a cursor": async (place) => {
    const stream = await openLive(place);
    const [event] = await receive(stream, 1, () => cause(place.target));
    require(typeof event?.id === "string" && event.id !== "", "an event has no id");
    require(typeof event?.cursor === "string" && event.cursor !== "", "an event has no cursor");
  },
  "R2 without a cursor only new events are delivered": async (place) => {
    const before = await receive(await openLive(place), 1, () => cause(place.target));
    const [next] = await receive(await openLive(place), 1, () => cause(place.target));
    require(before.every(({ id }) => id !== next?.id), "an earlier event was delivered");
  },
  "R3 after a cursor the events that follow it are delivered in the same order": async (place) => {
    const all = await receive(await openLive(place), 3, () => cause(place.target));
    for (const [at, { cursor }] of all.slice(0, -1).entries()) {
      const rest = all.slice(at + 1);
      requireSame(await receive(open(place, cursor), rest.length), rest);
    }
  },
  "R4 a cursor may be used again, and repeated events keep their ids": async (place) => {
    const [first, ...rest] = await receive(await openLive(place), 3, () => cause(place.target));
    for (let time = 0; time < 2; time++)
      requireSame(await receive(open(place, first?.cursor), rest.length), rest);
  },
  "R5 a stream that was replayed continues with new events": async (place) => {
    const witness = await openLive(place);
    const [first] = await receive(witness, 2, () => cause(place.target));
    const resumed = open(place, first?.cursor);
    const missing = () => {
      const known = new Set(eventsOf(resumed).map(({ id }) => id));
      return eventsOf(witness).filter(({ id }) => id !== first?.id && !known.has(id));
    };
    await waitFor(() => missing().length === 0 || failureOf(resumed));
    const before = eventsOf(witness).length;
    await cause(place.target);
    await waitFor(() => eventsOf(witness).length > before || failureOf(witness));
    await waitFor(() => missing().length === 0 || failureOf(resumed));
  },
  "R6 nothing is lost or doubled when the connection is cut again and again": async (place) => {
    const witness = await openLive(place);
    const seen = [...(await receive(witness, 1, () => cause(place.target)))];
    for (let cut = 1; cut <= CUTS; cut++) {
      const stream = open(place, seen.at(-1)?.cursor);
      await cause(place.target);
      const known = new Set(seen.map(({ id }) => id));
      await waitFor(() => eventsOf(stream).some(({ id }) => !known.has(id)) || failureOf(stream));
      seen.push(...eventsOf(stream).filter(({ id }) => !known.has(id)));
      stream.cut();
      // Happens while nobody is connected.
      await cause(place.target);
    }
    const last = open(place, seen.at(-1)?.cursor);
    const found = () => [...seen, ...eventsOf(last)].map(({ id }) => id);
    const all = () => eventsOf(witness).map(({ id }) => id);
    await waitFor(() => {
      failureOf(witness);
      failureOf(last);
      return all().length > 2 * CUTS && isDeepStrictEqual(found(), all());
    }).catch((error: unknown) => {
      throw new Error(`${found()} was delivered instead of ${all()} (${error})`);
    });
  },
  "R7 a cursor of one transport resumes every other": async (place) => {
    const [first, ...rest] = await receive(await openLive(place), 2, () => cause(place.target));
    for (const transport of place.target.transports)
      requireSame(await receive(open({ ...place, transport }, first?.cursor), 1), rest);
  },
  "R8 an invalid cursor is refused with invalid_cursor": (place) =>
    requireRefusal(place, NO_CURSOR, "invalid_cursor"),
};

const WITH_POSITION = "R9 after the current position no event is missed";
const WITH_EXPIRED = "R10 a cursor whose events are no longer kept is refused with cursor_expired";

/** Checks every promise over every transport, one after the other. */
export async function checkResuming(target: ResumeTarget): Promise<readonly Check[]> {
  const { position, expiredCursor } = target;
  limitMs = target.limitMs ?? LIMIT_MS;
  const promises = {
    ...PROMISES,
    ...(position && { [WITH_POSITION]: (place: Place) => checkPosition(place, position) }),
    ...(expiredCursor && {
      [WITH_EXPIRED]: (place: Place) => requireRefusal(place, expiredCursor, "cursor_expired"),
    }),
  };
  const checks: Check[] = [];
  for (const transport of target.transports)
    for (const [promise, check] of Object.entries(promises)) {
      const place: Place = { target, transport, streams: [] };
      const failure = await check(place).then(
        () => undefined,
        (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
      );
      for (const stream of place.streams) stream.cut();
      checks.push({ promise, transport, failure });
    }
  return checks;
}

async function checkPosition(place: Place, position: string): Promise<void> {
  const [cursor] = Object.values(await run(place.target, position));
  require(typeof cursor === "string", "the position is not a cursor");
  await cause(place.target);
  await receive(open(place, String(cursor)), 1);
}

async function requireRefusal(place: Place, cursor: string, code: string): Promise<void> {
  const stream = open(place, cursor);
  await waitFor(() => stream.results.length > 0 || stream.ended() !== undefined);
  const codes = stream.results.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions?.code));
  require(codes.includes(code), `the code is ${JSON.stringify(codes)}`);
  require(eventsOf(stream).length === 0, "events were delivered");
}

function open({ target, transport, streams }: Place, after?: string): Stream {
  const operation = { query: target.subscription, variables: { after: after ?? null } };
  const stream = openStream(transport, target, operation);
  streams.push(stream);
  return stream;
}

/** Opens a stream without a cursor, and waits until it delivers: servers do not say when a stream has begun. */
async function openLive(place: Place): Promise<Stream> {
  const stream = open(place);
  await waitFor(async () => {
    await cause(place.target);
    return eventsOf(stream).length > 0 || failureOf(stream);
  });
  return stream;
}

/** The first events of a stream; `causing` is called once for each. */
async function receive(
  stream: Stream,
  count: number,
  causing?: () => Promise<void>,
): Promise<readonly Event[]> {
  for (let at = 0; causing && at < count; at++) await causing();
  await waitFor(() => eventsOf(stream).length >= count || failureOf(stream));
  return eventsOf(stream).slice(0, count);
}

function eventsOf({ results }: Stream): readonly Event[] {
  return results.flatMap(({ data }) => (data ? (Object.values(data) as readonly Event[]) : []));
}

/** Throws when a stream ended or reports an error: it would deliver nothing more. */
function failureOf(stream: Stream): false {
  const errors = stream.results.flatMap((result: Result) => result.errors ?? []);
  if (errors.length > 0) throw new Error(`the stream reports ${JSON.stringify(errors)}`);
  const ended = stream.ended();
  if (ended) throw new Error(`the stream ended: ${String(ended.reason)}`);
  return false;
}

/** Waits for a condition; throws what it throws, and after a limit that grows with the machine's slowness. */
async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  let deadlineMs = performance.now() + limitMs;
  let isExtended = false;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) {
      if (isExtended) throw new Error("what was expected did not arrive in time");
      isExtended = true;
      deadlineMs += scaled(limitMs);
    }
    await sleep(5);
  }
}

let causes = 0;

async function cause(target: ResumeTarget): Promise<void> {
  causes += 1;
  await run(target, target.cause.replaceAll("{n}", `${process.pid}-${Date.now()}-${causes}`));
}

function requireSame(found: readonly Event[], expected: readonly Event[]): void {
  const ids = (events: readonly Event[]) => events.map(({ id }) => id);
  require(isDeepStrictEqual(
    ids(found),
    ids(expected),
  ), `${ids(found)} was delivered instead of ${ids(expected)}`);
}

function require(holds: boolean, failure: string): void {
  if (!holds) throw new Error(failure);
}
