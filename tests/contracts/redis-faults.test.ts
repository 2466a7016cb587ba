// @module-tag large
import { connect, createServer, type Socket } from "node:net";
import { createClient } from "redis";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { openOnRedis } from "../../src/app-connections.ts";
import { readinessChecks } from "../../src/app-readiness.ts";
import type { Config } from "../../src/config.ts";
import { RedisBus } from "../../src/events/bus.redis.ts";
import { appendEvents } from "../../src/events/outbox.ts";
import { parseRedisUrl } from "../../src/events/redis-address.ts";
import { dropRedis, openRedis, type RedisConnection } from "../../src/events/redis-connection.ts";
import { EventRelay } from "../../src/events/relay.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { RedisRateLimit } from "../../src/keys/auth/rate-limit.redis.ts";
import { InternalRefusals } from "../../src/metrics/internal-refusals.ts";
import { readinessOf } from "../../src/metrics/readiness.ts";
import { collect, fileEvent, noteOf, publishedFile } from "../support/events.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { freePort } from "../support/servers/postgres.ts";
import { startRedis } from "../support/servers/redis.ts";
import { until } from "../support/until.ts";

const TOPIC = "file.submitted";

describe.skipIf(!inject("redisUrl"))("a Redis that answers, but not as it should", () => {
  test("a former master that became a replica is left for the server to which its address leads now", async () => {
    const [first, second] = [await newRedis(), await newRedis()];
    const address = await startAddress(first.port);
    const bus = await openBus(address.url);
    const [own, other] = [await limitOn(address.url), await limitOn(address.url)];
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await bus.publish([publishedFile(1)]);
    await until(() => seen.length === 1);
    await first.command("REPLICAOF", "127.0.0.1", String(second.port));
    address.leadTo(second.port);
    await until(() => bus.publish([publishedFile(2)]));
    await until(() => seen.length === 2);
    // The reader has left as well: what only the new master has arrives.
    await first.command("REPLICAOF", "NO", "ONE");
    await until(() => bus.publish([publishedFile(3)]));
    await until(() => seen.length === 3);
    expect(seen.map(({ position }) => position)).toEqual([1n, 2n, 3n]);
    await first.command("REPLICAOF", "127.0.0.1", String(second.port));
    await countedTogether(own, other);
  });

  test("one without memory, and one that may not be read, are named by the readiness, and recover", async () => {
    const server = await newRedis();
    const database = await openTestDatabase();
    const permissions = "+@connection +@read +@write +@scripting +info".split(" ");
    const keys = ["~zerograph:*", "~{zerograph:events}:*"];
    await server.command("ACL", "SETUSER", "product", "on", ">secret", ...keys, ...permissions);
    const lines: string[] = [];
    const log = createLogger("info", { write: (line) => void lines.push(line) });
    const url = `redis://product:secret@127.0.0.1:${server.port}/1`;
    const bus = await openBus(url, log);
    const relay = new EventRelay(database, bus, log);
    relay.start();
    onTestFinished(() => relay.stop());
    const parts = readinessChecks(
      { catalogue: { providers: () => [] }, chain: { outage: () => undefined } } as never,
      database,
      bus,
      relay,
      new InternalRefusals(log),
    );
    const events = async () => (await readinessOf(parts)).parts.events;
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    const write = async (note: string) => {
      await database.transaction((tx) => appendEvents(tx, [fileEvent("0xaa", note)]));
      relay.nudge();
    };
    await write("1");
    await until(() => seen.length === 1);
    expect(await events()).toBe("ok");
    await countedTogether(await limitOn(url), await limitOn(url));

    await server.command("CONFIG", "SET", "maxmemory", "1");
    await write("2");
    await until(async () => (await events()) === "not published: see the log");
    expect(lines.join("")).toContain("OOM");
    await server.command("CONFIG", "SET", "maxmemory", "0");
    await until(async () => (await events()) === "ok");
    await until(() => seen.length === 2);

    await server.command("ACL", "SETUSER", "product", "-xread");
    // The permission is checked when a command is sent, and the present one ends with an event.
    await write("3");
    await until(async () => (await events()) === "not readable: see the log");
    expect(lines.join("")).toMatch(/Redis refuses to be read.*/);
    expect(lines.filter((line) => line.includes("Redis refuses to be read"))).toHaveLength(1);
    await write("4");
    await server.command("ACL", "SETUSER", "product", "+xread");
    await until(() => seen.length === 4);
    expect(seen.map(noteOf)).toEqual(["1", "2", "3", "4"]);
    expect(await events()).toBe("ok");
  });
});

test.skipIf(!inject("redisUrl"))(
  "a process starts although Redis accepts no connection for its counters, and counts in Redis once it does",
  async () => {
    const server = await newRedis();
    const url = `redis://127.0.0.1:${server.port}`;
    const observer = await limitOn(url);
    // The command of this test, the observer, and the two of the bus.
    await server.command("CONFIG", "SET", "maxclients", "4");
    const { bus, redis } = await openOnRedis(url, {} as Config, createLogger("silent"));
    onTestFinished(() => bus.close());
    onTestFinished(() => redis && dropRedis(redis));
    const limit = new RedisRateLimit(redis as RedisConnection, "t", 2);
    expect(await limit.take("alone")).toMatchObject({ remaining: 1 });
    await server.command("CONFIG", "SET", "maxclients", "100");
    await countedTogether(limit, observer);
  },
);

async function newRedis() {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const client = createClient({ url: server.url });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  const command = (...words: readonly string[]) => client.sendCommand([...words]);
  return { port: Number(new URL(server.url).port), command };
}

/** An address whose new connections lead to another server than those that are open. */
async function startAddress(port: number) {
  let target = port;
  const own = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ port: target, host: "127.0.0.1" });
    for (const [one, two] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.once("close", () => two.destroy());
      one.pipe(two);
    }
  });
  await new Promise<void>((resolve) => server.listen(own, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `redis://127.0.0.1:${own}`,
    leadTo(other: number) {
      target = other;
    },
  };
}

async function openBus(url: string, log = createLogger("silent")): Promise<RedisBus> {
  const bus = await RedisBus.create(url, { log });
  onTestFinished(() => bus.close());
  return bus;
}

/** Waits until both count the requests of one subject. */
async function countedTogether(own: RedisRateLimit, other: RedisRateLimit): Promise<void> {
  let subject = 0;
  await until(async () => {
    const name = `shared ${subject++}`;
    await own.take(name);
    return (await other.take(name)).remaining === 0;
  });
}

async function limitOn(url: string): Promise<RedisRateLimit> {
  const connection = openRedis(parseRedisUrl(url), () => {});
  onTestFinished(() => dropRedis(connection));
  await connection.connect();
  return new RedisRateLimit(connection, "t", 2);
}
