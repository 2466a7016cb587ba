// @module-tag large
import { randomUUID } from "node:crypto";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { RedisBus } from "../../src/events/bus.redis.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import { collect, publishedFile, take } from "../support/events.ts";
import { until } from "../support/until.ts";

const TOPIC = "file.submitted";
const redisUrl = inject("redisUrl");

type TestBus = MemoryBus | RedisBus;
type Adapter = { name: string; open(prefix?: string): Promise<TestBus> };

const memory: Adapter = { name: "memory", open: async () => closing(new MemoryBus()) };
const redis: Adapter = {
  name: "redis",
  open: async (prefix = `test:${randomUUID()}:`) =>
    closing(await RedisBus.create(redisUrl ?? "", { prefix })),
};

for (const { name, open } of redisUrl ? [memory, redis] : [memory]) {
  describe(`bus: ${name}`, () => {
    test("a reader gets published events whole and in order of position", async () => {
      const bus = await open();
      const stream = await bus.subscribe({ topic: TOPIC });
      const events = numbered(1, 20);
      await bus.publish(events.slice(0, 7));
      await bus.publish(events.slice(7));
      expect(await take(stream, 20)).toEqual(events);
    });

    test("a reader gets only its own topic and subject", async () => {
      const bus = await open();
      const one = await bus.subscribe({ topic: TOPIC, subject: "0xaa" });
      const all = await bus.subscribe({ topic: TOPIC });
      const data = { account: "0xaa", keyId: "k", kind: "api-key", change: "created" } as const;
      const key = {
        id: randomUUID(),
        at: new Date(),
        position: 2n,
        topic: "key.changed",
        subject: "0xaa",
        data,
      } as const;
      await bus.publish([publishedFile(1, "0xbb"), key, publishedFile(3, "0xaa"), publishedFile(4, "0xbb")]);
      await bus.publish([publishedFile(5, "0xaa")]);
      expect(positions(await take(one, 2))).toEqual([3n, 5n]);
      expect(positions(await take(all, 4))).toEqual([1n, 3n, 4n, 5n]);
    });

    test("a bus that claims to cover everything since a position has all of it", async () => {
      const bus = await open();
      // In batches as of the relay: each has the time limit of one command.
      for (let first = 1; first < 20_500; first += 500) await bus.publish(numbered(first, first + 499));
      for (const after of [0n, 5_000n, 10_499n, 20_000n, 20_500n]) {
        const stream = await bus.subscribe({ topic: TOPIC }, after);
        if (bus.coversSince(TOPIC, after) && after < 20_500n)
          expect((await take(stream, 1))[0]?.position).toBe(after + 1n);
        await stream.return?.();
      }
      // Evicted events are gone; Redis may have lost its memory, so it never claims to cover them.
      expect([0n, 20_000n].map((after) => bus.coversSince(TOPIC, after))).toEqual([false, name === "memory"]);
    });

    test("a replay starts after the given position, over many pages, and continues live", async () => {
      const bus = await open();
      await bus.publish(numbered(1, 1_700));
      const stream = await bus.subscribe({ topic: TOPIC, subject: "0xaa" }, 200n);
      expect(positions(await take(stream, 1_500))).toEqual(positions(numbered(201, 1_700)));
      await bus.publish(numbered(1_701, 1_702));
      expect(positions(await take(stream, 2))).toEqual([1_701n, 1_702n]);
    });

    test("readers that join while events are published have neither gaps nor duplicates", async () => {
      const bus = await open();
      const last = 3_000;
      const readers: Promise<bigint[]>[] = [];
      for (let position = 1; position <= last; position += 10) {
        const publishing = bus.publish(numbered(position, position + 9));
        const after = BigInt(Math.max(0, position - 1 - Math.floor(Math.random() * 700)));
        if (position % 100 === 1)
          readers.push(bus.subscribe({ topic: TOPIC }, after).then((stream) => readTo(stream, after, last)));
        await publishing;
      }
      for (const reader of readers) expect((await reader).length).toBeGreaterThan(0);
    });

    test("publishing again, or before the newest position, changes nothing", async () => {
      const bus = await open();
      const stream = await bus.subscribe({ topic: TOPIC });
      const events = numbered(1, 4);
      await bus.publish(events);
      await bus.publish(events);
      await bus.publish([...events.slice(2), ...numbered(5, 6)]);
      expect(await take(stream, 4)).toEqual(events);
      expect(positions(await take(stream, 2))).toEqual([5n, 6n]);
      expect(positions(await take(await bus.subscribe({ topic: TOPIC }, 0n), 6))).toEqual([
        1n,
        2n,
        3n,
        4n,
        5n,
        6n,
      ]);
      expect(await bus.newestPosition()).toBe(6n);
    });

    test("an event whose position another one has is refused by name, and so is one before the newest", async () => {
      const bus = await open();
      const events = [publishedFile(1), publishedFile(3), publishedFile(5)];
      await bus.publish(events);
      for (const position of [1, 2, 4, 5])
        await expect(bus.publish([publishedFile(position)])).rejects.toThrow(
          `the position ${position} of ${TOPIC} is taken by another event`,
        );
      const later = [publishedFile(6), publishedFile(5), publishedFile(7)];
      await expect(bus.publish(later)).rejects.toThrow("the position 5 ");
      const [newest] = [publishedFile(8)];
      await bus.publish([newest]);
      const all = await take(await bus.subscribe({ topic: TOPIC }, 0n), 5);
      expect(all).toEqual([...events, later[0], newest]);
    });

    test("events that are restored have their positions, unless later ones were published", async () => {
      const bus = await open();
      const events = numbered(1, 4);
      await bus.restore(events.slice(0, 2));
      await bus.publish([publishedFile(6)]);
      await bus.restore([...events, publishedFile(6), publishedFile(7)]);
      expect(positions(await take(await bus.subscribe({ topic: TOPIC }, 0n), 4))).toEqual([1n, 2n, 6n, 7n]);
    });

    test("positions beyond 2^53 are exact", async () => {
      const bus = await open();
      const stream = await bus.subscribe({ topic: TOPIC });
      const position = 2n ** 62n + 1n;
      await bus.publish([publishedFile(position)]);
      expect(positions(await take(stream, 1))).toEqual([position]);
      expect(positions(await take(await bus.subscribe({ topic: TOPIC }, position - 1n), 1))).toEqual([
        position,
      ]);
    });

    test("a reader that does not read is ended with an error, and does not delay others", async () => {
      const bus = await open();
      const slow = await bus.subscribe({ topic: TOPIC });
      const quick = collect(await bus.subscribe({ topic: TOPIC }));
      for (let position = 1; position <= 1_500; position += 100)
        await bus.publish(numbered(position, position + 99));
      await until(() => quick.length === 1_500);
      expect(positions(await take(slow, 1_000))).toEqual(positions(numbered(1, 1_000)));
      await expect(slow.next()).rejects.toThrow("1000 events behind");
      expect(await slow.next()).toEqual({ done: true, value: undefined });
      expect(bus.readers).toBe(1);
    });

    test("return() ends a waiting reader at once and closes the source", async () => {
      const bus = await open();
      const live = await bus.subscribe({ topic: TOPIC });
      const replayed = await bus.subscribe({ topic: TOPIC, subject: "0xaa" }, 0n);
      const waiting = [live.next(), replayed.next()];
      await until(() => bus.readers === 2);
      await Promise.all([live.return?.(), replayed.return?.()]);
      for (const next of waiting) expect(await next).toEqual({ done: true, value: undefined });
      expect(bus.readers).toBe(0);
    });

    test("return() during a replay ends it, and leaves no reader behind", async () => {
      const bus = await open();
      await bus.publish(numbered(1, 700));
      const stream = await bus.subscribe({ topic: TOPIC }, 0n);
      const next = stream.next();
      await stream.return?.();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(await stream.next()).toEqual({ done: true, value: undefined });
      expect(bus.readers).toBe(0);
    });

    test("close ends every reader", async () => {
      const bus = await open();
      const live = await bus.subscribe({ topic: TOPIC });
      const replayed = await bus.subscribe({ topic: TOPIC }, 0n);
      const waiting = [live.next(), replayed.next()];
      await until(() => bus.readers === 2);
      await bus.close();
      for (const next of waiting) expect(await next).toEqual({ done: true, value: undefined });
    });

    test("close ends a reader whose replay page is being fetched", async () => {
      const bus = await open();
      const replayed = await bus.subscribe({ topic: TOPIC }, 0n);
      const next = replayed.next();
      await bus.close();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(bus.readers).toBe(0);
    });
  });
}

describe.skipIf(!redisUrl)("bus: two processes on one Redis", () => {
  test("both see all events, whichever process published them", async () => {
    const prefix = `test:${randomUUID()}:`;
    const buses = await Promise.all([redis.open(prefix), redis.open(prefix)]);
    const streams = await Promise.all(buses.map((bus) => bus.subscribe({ topic: TOPIC })));
    await buses[0]?.publish(numbered(1, 3));
    await buses[1]?.publish(numbered(4, 6));
    for (const stream of streams) expect(positions(await take(stream, 6))).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    expect(await buses[0]?.newestPosition()).toBe(6n);
  });
});

function closing<B extends TestBus>(bus: B): B {
  onTestFinished(() => bus.close());
  return bus;
}

function numbered(from: number, to: number): DomainEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => publishedFile(from + index));
}

function positions(events: readonly DomainEvent[]): bigint[] {
  return events.map(({ position }) => position);
}

/** Reads up to position `last` and fails on the first that does not follow its predecessor by one. */
async function readTo(stream: AsyncIterable<DomainEvent>, after: bigint, last: number): Promise<bigint[]> {
  const seen: bigint[] = [];
  for await (const { position } of stream) {
    expect(position).toBe((seen.at(-1) ?? after) + 1n);
    seen.push(position);
    if (position === BigInt(last)) break;
  }
  return seen;
}
