// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { RedisBus } from "../../src/events/bus.redis.ts";
import { EventCursors } from "../../src/events/event-cursors.ts";
import { EventsService } from "../../src/events/events.service.ts";
import { appendEvents, forgetEvents } from "../../src/events/outbox.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import { encodeCursor } from "../../src/kernel/page.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { TEST_CURSORS } from "../support/cursors.ts";
import { collect, fileEvent, noteOf, startRelay, take } from "../support/events.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const filter = { topic: "file.submitted", subject: "0xaa" } as const;

describeDatabases("events service", (kind) => {
  test("a stream without a cursor delivers only events from then on", async () => {
    const { events, emit } = await startProcess();
    await emit("before");
    const stream = await events.follow(filter);
    await emit("1", "2");
    expect((await take(stream, 2)).map(noteOf)).toEqual(["1", "2"]);
  });

  test("a cursor from before a restart resumes from the outbox, over many pages, and continues live", async () => {
    const first = await startProcess();
    const stream = await first.events.follow(filter);
    await first.emit("1", "2");
    const [event] = await take(stream, 1);
    await first.emit(...Array.from({ length: 1_100 }, (_, index) => `${index + 3}`));
    await first.stop();

    const second = await startProcess(first.database);
    const resumed = await second.events.follow(filter, TEST_CURSORS.seal(event?.position ?? -1n));
    const missed = await take(resumed, 1_101);
    expect(missed.map(noteOf)).toEqual(Array.from({ length: 1_101 }, (_, index) => `${index + 2}`));
    await second.emit("live");
    expect((await take(resumed, 1)).map(noteOf)).toEqual(["live"]);
    expect(missed.every(({ subject }) => subject === filter.subject)).toBe(true);
  });

  test("readers that reconnect repeatedly while events are written receive every event exactly once", async () => {
    const { events, emit } = await startProcess();
    const writing = (async () => {
      for (let note = 1; note <= 150; note++) await emit(`${note}`);
    })();
    const seen: DomainEvent[] = [];
    while (seen.length < 150) {
      const stream = await events.follow(filter, TEST_CURSORS.seal(seen.at(-1)?.position ?? 0n));
      seen.push(...(await take(stream, Math.min(7, 150 - seen.length))));
      await stream.return?.();
    }
    await writing;
    expect(seen.map(noteOf)).toEqual(Array.from({ length: 150 }, (_, index) => `${index + 1}`));
    expect(events.openStreams).toBe(0);
  });

  test("a cursor that is foreign or in the future is refused; the cursor of the newest event is accepted", async () => {
    const { events, emit } = await startProcess();
    const stream = await events.follow(filter);
    await emit("1");
    const position = (await take(stream, 1))[0]?.position ?? -1n;
    const bad = [
      "",
      "x",
      encodeCursor("1"),
      encodeCursor("event", String(position)),
      `${TEST_CURSORS.seal(position).slice(0, -2)}AA`,
      new EventCursors("the secret of another deployment").seal(position),
    ];
    for (const cursor of [...bad, TEST_CURSORS.seal(position + 1n)])
      await expect(events.follow(filter, cursor)).rejects.toMatchObject({
        code: "invalid_cursor",
        param: "after",
      });
    await (await events.follow(filter, TEST_CURSORS.seal(position))).return?.();
    expect(events.openStreams).toBe(1);
  });

  test("a cursor whose following events were deleted is refused as expired; that of the newest deleted event is valid", async () => {
    const { events, emit, database } = await startProcess();
    const stream = await events.follow(filter);
    await emit("1", "2");
    const [one, two] = (await take(stream, 2)).map(({ position }) => position);
    await database.rows("update outbox set at = now() - interval '25 hours'");
    expect(await forgetEvents(database, 10)).toBe(4);
    await expect(events.follow(filter, TEST_CURSORS.seal(one ?? -1n))).rejects.toMatchObject({
      code: "cursor_expired",
    });
    const resumed = await events.follow(filter, TEST_CURSORS.seal(two ?? -1n));
    await emit("3");
    expect((await take(resumed, 1)).map(noteOf)).toEqual(["3"]);
    const otherTopic = await events.follow({ topic: "key.changed" }, TEST_CURSORS.seal(0n));
    await otherTopic.return?.();
  });

  test("a stream whose next events were deleted while it replayed fails as expired, and skips none", async () => {
    const { events, emit, database } = await startProcess();
    const notes = Array.from({ length: 700 }, (_, index) => `${index + 1}`);
    await emit(...notes);
    const stream = await events.follow(filter, TEST_CURSORS.seal(0n));
    const read = await take(stream, 500);
    expect(read.map(noteOf)).toEqual(notes.slice(0, 500));
    await database.rows(
      "update outbox set at = now() - interval '25 hours' where (data ->> 'txSeq')::int <= 600",
    );
    expect(await forgetEvents(database, 2_000)).toBe(1_200);
    await expect(stream.next()).rejects.toMatchObject({ code: "cursor_expired" });
    expect(events.openStreams).toBe(0);
  });

  test("return() ends a stream at once, live or while it replays, and releases its slot", async () => {
    const { events, emit, bus } = await startProcess(undefined, { maxStreams: 2 });
    await emit("1");
    const live = await events.follow(filter);
    const replaying = await events.follow(filter, TEST_CURSORS.seal(0n));
    await expect(events.follow(filter)).rejects.toMatchObject({ code: "unavailable" });
    const waiting = [live.next(), replaying.next()];
    await Promise.all([live.return?.(), replaying.return?.()]);
    for (const next of waiting) expect(await next).toEqual({ done: true, value: undefined });
    expect(events.openStreams).toBe(0);
    expect(bus.readers).toBe(0);
    await (await events.follow(filter)).return?.();
  });

  test("the end of the bus ends its streams and releases their slots", async () => {
    const { events, bus } = await startProcess();
    const seen = collect(await events.follow(filter));
    await bus.close();
    await until(() => events.openStreams === 0);
    expect(seen).toEqual([]);
  });

  /** One process: its own bus over a database, which is new or shared with an earlier process. */
  async function startProcess(shared?: Database, options = {}) {
    const database = shared ?? (await openTestDatabase(kind));
    const bus = new MemoryBus();
    const relay = startRelay(database, bus);
    const emit = async (...notes: string[]) => {
      const noise = notes.map((note) => fileEvent("0xbb", note));
      const wanted = notes.map((note) => fileEvent(filter.subject, note));
      await database.transaction((tx) => appendEvents(tx, [...noise, ...wanted]));
      relay.nudge();
      const last = "select 1 from outbox where position is null limit 1";
      await until(async () => (await database.rows(last)).length === 0);
    };
    const stop = async () => {
      await relay.stop();
      await bus.close();
    };
    return { database, bus, emit, stop, events: new EventsService(database, bus, TEST_CURSORS, options) };
  }
});

describe.skipIf(!inject("redisUrl") || !inject("postgresUrl"))("events service: two processes", () => {
  test("a stream resumes in another process with its cursor and misses nothing that either published", async () => {
    const database = await openTestDatabase("server");
    const prefix = `test:${newId()}:`;
    const [here, there] = [await startOnRedis(database, prefix), await startOnRedis(database, prefix)];
    const stream = await here.events.follow(filter);
    await there.emit("1");
    await here.emit("2");
    const [first] = await take(stream, 2);
    await stream.return?.();
    await here.emit("3");
    const moved = await there.events.follow(filter, TEST_CURSORS.seal(first?.position ?? -1n));
    await here.emit("4");
    await there.emit("5");
    expect((await take(moved, 4)).map(noteOf)).toEqual(["2", "3", "4", "5"]);
  });

  async function startOnRedis(database: Database, prefix: string) {
    const bus = await RedisBus.create(inject("redisUrl") ?? "", { prefix });
    onTestFinished(() => bus.close());
    const relay = startRelay(database, bus);
    const emit = async (note: string) => {
      await appendEvents(database, [fileEvent(filter.subject, note)]);
      relay.nudge();
    };
    return { emit, events: new EventsService(database, bus, TEST_CURSORS) };
  }
});
