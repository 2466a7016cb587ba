import { expect, test } from "vitest";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { FELL_BEHIND } from "../../../src/events/replayed-stream.ts";
import { publishedFile, take } from "../../support/events.ts";

const TOPIC = "file.submitted";

/** The events at these positions, of subject `0xaa`. */
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => publishedFile(from + n));

/** The event at this position, with a root of this length. It counts as some 400 bytes more. */
function sized(position: number, length: number) {
  const event = publishedFile(position);
  return { ...event, data: { ...event.data, root: "x".repeat(length) } } as typeof event;
}

/** A bus that kept the newest 10,000 of 12,500 events. */
async function trimmedBus(): Promise<MemoryBus> {
  const bus = new MemoryBus();
  await bus.publish(numbered(1, 12_500));
  return bus;
}

/** The first position that a reader after `after` receives. */
async function firstAfter(bus: MemoryBus, after: bigint): Promise<bigint | undefined> {
  const stream = await bus.subscribe({ topic: TOPIC }, after);
  const [first] = await take(stream, 1);
  await stream.return?.();
  return first?.position;
}

test("everything is retained up to 12,499 events, and of 12,500 the newest 10,000", async () => {
  const bus = new MemoryBus();
  await bus.publish(numbered(1, 12_499));
  expect(bus.coversSince(TOPIC, 0n)).toBe(true);
  expect(await firstAfter(bus, 0n)).toBe(1n);
  await bus.publish(numbered(12_500, 12_500));
  expect([2_499n, 2_500n].map((after) => bus.coversSince(TOPIC, after))).toEqual([false, true]);
  expect(await firstAfter(bus, 2_500n)).toBe(2_501n);
  expect(await firstAfter(bus, 2_499n)).toBe(2_501n);
});

test("of large events, the newest that fit into 8 MiB are retained, at least 4 MiB, and one at any size", async () => {
  const bus = new MemoryBus();
  await bus.publish(Array.from({ length: 1_000 }, (_, n) => sized(n + 1, 20_000)));
  const kept = (await take(await bus.subscribe({ topic: TOPIC }, 0n), 200)).map(({ position }) => position);
  const [first = 0n] = kept;
  expect(first).toBeGreaterThan(1_000n - 420n);
  expect(first).toBeLessThan(1_000n - 200n);
  expect([first - 2n, first - 1n].map((after) => bus.coversSince(TOPIC, after))).toEqual([false, true]);
  await bus.publish([sized(2_000, 9 * 1_048_576)]);
  expect(await firstAfter(bus, 1_999n)).toBe(2_000n);
});

test("events that are dropped for their number no longer count for their size", async () => {
  const bus = new MemoryBus();
  // 2,500 events of 1.4 kB and 12,499 of 0.4 kB are too large together, but not without the first ones.
  await bus.publish(Array.from({ length: 2_500 }, (_, n) => sized(n + 1, 1_000)));
  await bus.publish(numbered(2_501, 14_999));
  expect([2_499n, 2_500n].map((after) => bus.coversSince(TOPIC, after))).toEqual([false, true]);
});

test("of events that fit once the oldest are dropped for their number, none is dropped for its size", async () => {
  const bus = new MemoryBus();
  await bus.publish(Array.from({ length: 12_500 }, (_, n) => sized(n + 1, 200)));
  expect([2_499n, 2_500n].map((after) => bus.coversSince(TOPIC, after))).toEqual([false, true]);
});

test("the oldest event that is retained counts for its size", async () => {
  const bus = new MemoryBus();
  await bus.publish([...numbered(1, 2_500), sized(2_501, 2_000_000), ...numbered(2_502, 12_500)]);
  expect(bus.coversSince(TOPIC, 2_500n)).toBe(true);
  // 6 MB are retained, 2 MB of them in that event: 4 MB more are too many.
  await bus.publish(Array.from({ length: 2_499 }, (_, n) => sized(12_501 + n, 1_200)));
  expect(bus.coversSince(TOPIC, 2_500n)).toBe(false);
});

test("an event may have members without a value", async () => {
  const bus = new MemoryBus();
  const event = publishedFile(1);
  await bus.publish([{ ...event, data: { ...event.data, root: null, more: undefined } } as never]);
  expect(await firstAfter(bus, 0n)).toBe(1n);
});

test("a replay whose next events were dropped fails, so that no gap is unnoticed", async () => {
  const bus = new MemoryBus();
  await bus.publish(numbered(1, 600));
  const stream = await bus.subscribe({ topic: TOPIC }, 0n);
  expect((await take(stream, 1))[0]?.position).toBe(1n);
  await bus.publish(numbered(601, 12_500));
  const rest = await take(stream, 499);
  expect(rest.at(-1)?.position).toBe(500n);
  await expect(stream.next()).rejects.toMatchObject({ code: "unavailable", message: FELL_BEHIND });
});

test("a replay that begins right after the dropped events is whole", async () => {
  const bus = await trimmedBus();
  const positions = (await take(await bus.subscribe({ topic: TOPIC }, 2_500n), 10_000)).map(
    ({ position }) => position,
  );
  expect(positions).toEqual(numbered(2_501, 12_500).map(({ position }) => position));
});

test("a replay has only its own subject, in every page", async () => {
  const bus = new MemoryBus();
  const events = Array.from({ length: 1_200 }, (_, n) => publishedFile(n + 1, n % 3 === 0 ? "0xaa" : "0xbb"));
  await bus.publish(events);
  const stream = await bus.subscribe({ topic: TOPIC, subject: "0xaa" }, 0n);
  expect(await take(stream, 400)).toEqual(events.filter(({ subject }) => subject === "0xaa"));
});

test("the newest position is that of any topic, and an older event does not lower it", async () => {
  const bus = new MemoryBus();
  expect(await bus.newestPosition()).toBe(0n);
  await bus.publish([publishedFile(7)]);
  const step = { ...publishedFile(5), topic: "kv.committed" } as never;
  await bus.publish([step]);
  expect(await bus.newestPosition()).toBe(7n);
});

test("the bus of one process is always seeded, as its readers share its memory", async () => {
  expect(await new MemoryBus().isSeeded()).toBe(true);
});

test("a long batch is published in turns, so that readers keep up with it", async () => {
  const bus = new MemoryBus();
  const stream = await bus.subscribe({ topic: TOPIC });
  const reading = take(stream, 5_000);
  await bus.publish(numbered(1, 5_000));
  expect((await reading).at(-1)?.position).toBe(5_000n);
});
