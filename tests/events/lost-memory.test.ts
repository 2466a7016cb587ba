// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { RedisBus } from "../../src/events/bus.redis.ts";
import { EventsService } from "../../src/events/events.service.ts";
import { appendEvents } from "../../src/events/outbox.ts";
import { TEST_CURSORS } from "../support/cursors.ts";
import { collect, fileEvent, noteOf, startRelay } from "../support/events.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { startRedis } from "../support/servers/redis.ts";
import { until } from "../support/until.ts";

const filter = { topic: "file.submitted", subject: "0xaa" } as const;

describe.skipIf(!inject("redisUrl"))("events: Redis loses its memory", () => {
  test.each(["flushed", "killed"] as const)(
    "a process that has not yet read an event when Redis is %s still delivers it, exactly once",
    async (how) => {
      const { database, reader, proxy, server, write } = await start();
      const events = new EventsService(database, reader, TEST_CURSORS);
      const seen = collect(await events.follow(filter));
      await write("1");
      await until(() => seen.length === 1);
      // From here on the reader receives nothing, and the events it misses are gone from Redis when it
      // reconnects.
      await proxy.cut();
      await write("2");
      await write("3");
      if (how === "flushed") await server.flush();
      else {
        await server.kill();
        await server.start({ keepData: false });
      }
      await proxy.open();
      await until(() => seen.length >= 3);
      await write("4");
      await until(() => seen.length >= 4);
      expect(seen.map(noteOf)).toEqual(["1", "2", "3", "4"]);
    },
  );

  async function start() {
    const server = await startRedis({ audit: false });
    onTestFinished(() => server.stop());
    const proxy = await startPausableProxy(Number(new URL(server.url).port));
    onTestFinished(() => proxy.close());
    const database = await openTestDatabase();
    const writer = await RedisBus.create(server.url);
    onTestFinished(() => writer.close());
    const reader = await RedisBus.create(`redis://127.0.0.1:${proxy.port}`);
    onTestFinished(() => reader.close());
    const relay = startRelay(database, writer);
    const write = async (note: string) => {
      await database.transaction((tx) => appendEvents(tx, [fileEvent(filter.subject, note)]));
      relay.nudge();
      const waiting = "select 1 from outbox where position is null";
      await until(async () => (await database.rows(waiting)).length === 0);
    };
    return { database, reader, proxy, server, write };
  }
});
