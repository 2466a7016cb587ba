// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import type { Bus } from "../../src/events/bus.ts";
import { appendEvents, forgetEvents, readReplayWindow } from "../../src/events/outbox.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import { collect, fileEvent, noteOf, publishedFile, startRelay, untilPublished } from "../support/events.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const TOPIC = "file.submitted";

describeDatabases("outbox", (kind) => {
  test("an event is published if and only if its transaction commits", async () => {
    const { database, bus, relay } = await open();
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    const undone = database.transaction(async (tx) => {
      await appendEvents(tx, [fileEvent("0xaa", "undone")]);
      throw new Error("changed my mind");
    });
    await expect(undone).rejects.toThrow("changed my mind");
    await database.transaction((tx) => appendEvents(tx, [fileEvent("0xaa", "1"), fileEvent("0xbb", "2")]));
    relay.nudge();
    await until(() => seen.length === 2);
    // The relay commits positions after the bus has accepted the events.
    await untilPublished(database);
    expect(seen.map(noteOf)).toEqual(["1", "2"]);
    expect(seen[0]?.at.getTime()).toBeGreaterThan(Date.now() - 60_000);
    const newest = seen[1]?.position;
    const bounds = { newest, oldestCursor: 0n, newestCursor: newest };
    expect(await readReplayWindow(database, { topic: TOPIC }, 0n, 10)).toEqual({ ...bounds, events: seen });
    const ofOne = { topic: TOPIC, subject: "0xbb" } as const;
    expect(await readReplayWindow(database, ofOne, 0n, 10)).toEqual({ ...bounds, events: seen.slice(1) });
    expect(await readReplayWindow(database, ofOne, newest ?? 0n, 10)).toEqual({ ...bounds, events: [] });
  });

  test("two relays publish every event of 200 concurrent transactions once, each subject in commit order", async () => {
    const { database, bus, relay } = await open();
    const other = startRelay(database, bus);
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await database.rows("create table counter (subject text primary key, n integer not null)");
    onTestFinished(async () => void (await database.rows("drop table counter")));
    await database.rows("insert into counter select 'subject-' || s, 0 from generate_series(0, 9) as s");
    const work = Array.from({ length: 200 }, async (_, index) => {
      await database.transaction(async (tx) => {
        const subject = `subject-${index % 10}`;
        const count = "update counter set n = n + 1 where subject = $1 returning n::text";
        const [row] = await tx.rows<{ n: string }>(count, [subject]);
        await appendEvents(tx, [fileEvent(subject, row?.n ?? "?")]);
      });
      (index % 2 ? relay : other).nudge();
    });
    await Promise.all(work);
    await until(() => seen.length >= 200);
    await Promise.all([relay.stop(), other.stop()]);
    expect(seen).toHaveLength(200);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(200);
    expect(seen.every(({ position }, index) => position > (seen[index - 1]?.position ?? 0n))).toBe(true);
    for (let subject = 0; subject < 10; subject++) {
      const notes = seen.filter((event) => event.subject === `subject-${subject}`).map(noteOf);
      expect(notes).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 1}`));
    }
  });

  test("events that the bus refuses are published once it accepts them again", async () => {
    const bus = new FailingBus(3);
    const { database, relay } = await open(bus);
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await appendEvents(database, [fileEvent("0xaa", "1"), fileEvent("0xaa", "2")]);
    relay.nudge();
    await until(() => seen.length === 2);
    expect(seen.map(noteOf)).toEqual(["1", "2"]);
    expect(bus.failuresLeft).toBe(0);
  });

  test("events that the bus accepted before it failed are published again with the same ids and greater positions", async () => {
    const bus = new FailingBus(1, { late: true });
    const { database, relay } = await open(bus);
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await appendEvents(database, [fileEvent("0xaa", "1"), fileEvent("0xaa", "2")]);
    relay.nudge();
    await until(() => seen.length === 4);
    expect(seen.map(noteOf)).toEqual(["1", "2", "1", "2"]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
    expect(seen.map(({ position }) => position)).toEqual([1n, 2n, 3n, 4n]);
  });

  test("events left by another process are found without a wake-up, over many batches", async () => {
    const { database, bus } = await open();
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    const events = Array.from({ length: 1_200 }, (_, index) => fileEvent("0xaa", `${index}`));
    await appendEvents(database, events);
    await until(() => seen.length === 1_200);
    expect(seen.map(noteOf)).toEqual(events.map(({ data }) => data.txSeq));
  });

  test("events are still published after the database behind the bus was recreated", async () => {
    const bus = new MemoryBus();
    await bus.publish([publishedFile(5_000)]);
    const { database, relay } = await open(bus);
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await appendEvents(database, [fileEvent("0xaa", "1")]);
    relay.nudge();
    await until(() => seen.length === 1);
    expect(seen[0]?.position).toBe(5_001n);
  });

  test("only published events older than a day are deleted", async () => {
    const { database, bus, relay } = await open();
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await appendEvents(database, [fileEvent("0xaa", "1"), fileEvent("0xaa", "2"), fileEvent("0xaa", "3")]);
    relay.nudge();
    await until(() => seen.length === 3);
    await relay.stop();
    await appendEvents(database, [fileEvent("0xaa", "unpublished")]);
    await database.rows("update outbox set at = now() - interval '25 hours' where data ->> 'txSeq' <> '3'");
    expect(await forgetEvents(database, 1)).toBe(1);
    expect(await forgetEvents(database, 10)).toBe(1);
    expect(await forgetEvents(database, 10)).toBe(0);
    expect((await readReplayWindow(database, { topic: TOPIC }, 0n, 10)).events.map(noteOf)).toEqual(["3"]);
    expect(await database.rows("select 1 from outbox where position is null")).toHaveLength(1);
  });

  async function open(bus: Bus = new MemoryBus()) {
    const database = await openTestDatabase(kind);
    return { database, bus, relay: startRelay(database, bus) };
  }
});

/** A bus that fails `times` times, before it accepts the events or, with `late`, after. */
class FailingBus extends MemoryBus {
  failuresLeft: number;
  readonly #late: boolean;

  constructor(failures: number, { late = false } = {}) {
    super();
    this.failuresLeft = failures;
    this.#late = late;
  }

  override async publish(events: readonly DomainEvent[]): Promise<void> {
    const fails = events.length > 0 && this.failuresLeft > 0;
    if (!fails || this.#late) await super.publish(events);
    if (!fails) return;
    this.failuresLeft--;
    throw new Error("the bus is out of reach");
  }
}
