// @module-tag large
import { randomUUID } from "node:crypto";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { RedisBus } from "../../src/events/bus.redis.ts";
import type { Bus } from "../../src/events/bus.ts";
import { appendEvents } from "../../src/events/outbox.ts";
import { EventRelay } from "../../src/events/relay.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { collect, fileEvent, noteOf, untilPublished } from "../support/events.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const TOPIC = "file.submitted";
const redisUrl = inject("redisUrl");
const BUSES = {
  memory: async () => new MemoryBus(),
  ...(redisUrl && { redis: () => RedisBus.create(redisUrl, { prefix: `test:${randomUUID()}:` }) }),
};

describe.each(Object.entries(BUSES))("positions that other events have on the bus: %s", (_, create) => {
  test("a database that was restored from a backup while the product runs loses no event", async () => {
    const bus = await opened(create);
    const database = await openTestDatabase();
    const { relay, logged } = followed(database, bus);
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    for (const note of ["1", "2", "3"]) await write(database, relay, note);
    // The backup has neither the events nor their positions.
    await database.rows("truncate outbox");
    await database.rows("select setval('outbox_position', 1, false)::text");
    for (const note of ["4", "5", "6", "7"]) await write(database, relay, note);
    await until(() => seen.length >= 7);
    expect(seen.map(noteOf)).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    expect(relay.takenPositions).toBe(1);
    expect(logged().filter((line) => line.includes("other events"))).toHaveLength(1);
  });

  test("two products that share a bus by mistake lose no event, and say so once each", async () => {
    const bus = await opened(create);
    const products = await Promise.all(
      ["a", "b"].map(async (name) => {
        const database = await openTestDatabase();
        return { name, database, ...followed(database, bus) };
      }),
    );
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    const written: string[] = [];
    for (let round = 0; round < 20; round++)
      for (const { name, database, relay } of products) {
        written.push(`${name}${round}`);
        await write(database, relay, `${name}${round}`);
      }
    await until(() => seen.length >= written.length);
    expect(seen.map(noteOf).toSorted()).toEqual(written.toSorted());
    const taken = products.reduce((sum, { relay }) => sum + relay.takenPositions, 0);
    expect(taken).toBeGreaterThan(0);
    for (const { relay, logged } of products) {
      const lines = logged().filter((line) => line.includes("other events"));
      expect(lines).toHaveLength(relay.takenPositions > 0 ? 1 : 0);
    }
  });
});

async function opened(create: () => Promise<Bus>): Promise<Bus> {
  const bus = await create();
  onTestFinished(() => bus.close());
  return bus;
}

function followed(database: Database, bus: Bus) {
  const lines: string[] = [];
  const log = createLogger("error", { write: (line: string) => void lines.push(line) });
  const relay = new EventRelay(database, bus, log);
  relay.start();
  onTestFinished(() => relay.stop());
  return { relay, logged: () => lines };
}

async function write(database: Database, relay: EventRelay, note: string): Promise<void> {
  await database.transaction((tx) => appendEvents(tx, [fileEvent("0xaa", note)]));
  relay.nudge();
  await untilPublished(database);
}
