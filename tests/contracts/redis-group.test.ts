// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { RedisBus } from "../../src/events/bus.redis.ts";
import { EventsService } from "../../src/events/events.service.ts";
import { appendEvents } from "../../src/events/outbox.ts";
import { parseRedisUrl, redisAddress } from "../../src/events/redis-address.ts";
import { dropRedis, openRedis } from "../../src/events/redis-connection.ts";
import { RedisRateLimit } from "../../src/keys/auth/rate-limit.redis.ts";
import { TEST_CURSORS } from "../support/cursors.ts";
import { collect, fileEvent, noteOf, publishedFile, startRelay, take } from "../support/events.ts";
import { scaled } from "../support/machine.ts";
import { makeCertificates } from "../support/servers/certificates.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import {
  type GroupMember,
  startCluster,
  startSentinels,
  startTlsRedis,
} from "../support/servers/redis-group.ts";
import { until } from "../support/until.ts";

const filter = { topic: "file.submitted", subject: "0xaa" } as const;
const LIMIT = 5;
/** So many keys are on every master of a cluster. */
const MANY = 12;

describe.skipIf(!inject("redisUrl"))("Redis as a group of servers", () => {
  test("sentinels: when the master is killed no event is lost, none comes twice, and limits are counted again", async () => {
    const { master, url } = await startSentinels(onTestFinished);
    await survives(url, master);
  });

  test("a cluster: the same when the master of the events is killed, which has a replica", async () => {
    const { owner, url } = await startCluster(onTestFinished, "{zerograph:events}:kept");
    await survives(url, owner);
  });

  test("a cluster: with another master killed, events continue, and each process counts the limits of its keys", async () => {
    const { others, url } = await startCluster(onTestFinished, "{zerograph:events}:kept");
    const { write, seen } = await follow(url);
    const { take: takeOne } = await limitOn(url);
    const subjects = Array.from({ length: 30 }, (_, n) => `subject ${n}`);
    await write("1");
    await others[0]?.kill();
    await until(() => write("2"));
    await until(() => seen.length === 2);
    expect(seen.map(noteOf)).toEqual(["1", "2"]);
    const before = performance.now();
    for (const subject of subjects) expect(await takeOne(subject)).toMatchObject({ isOver: false });
    expect(performance.now() - before).toBeLessThan(scaled(5_000));
  });

  test("TLS: the server is verified by its authority and its name", async () => {
    const files = makeCertificates(newFolder(), "localhost");
    const port = await startTlsRedis(onTestFinished, files.server);
    const open = async (host: string, caFile?: string) => {
      const bus = await RedisBus.create(redisAddress(`rediss://${host}:${port}`, { caFile }));
      onTestFinished(() => bus.close());
      return bus;
    };
    const bus = await open("localhost", files.authority);
    const stream = await bus.subscribe({ topic: filter.topic });
    await bus.publish([publishedFile(1)]);
    expect(await take(stream, 1)).toHaveLength(1);
    await expect(open("localhost")).rejects.toThrow(
      /^REDIS_URL: localhost:\d+ is unreachable \(.*certificate/,
    );
    await expect(open("localhost", files.otherAuthority)).rejects.toThrow(/certificate/);
    await expect(open("127.0.0.1", files.authority)).rejects.toThrow(/IP: 127\.0\.0\.1 is not/);
  });
});

/** Kills the master of the events under them, and compares what a process receives with what was written. */
async function survives(url: string, master: GroupMember): Promise<void> {
  const { write, seen } = await follow(url);
  const { shared } = await limitOn(url);
  // A process counts by itself while Redis is slow, as on a busy machine.
  await until(shared);
  let count = 0;
  for (; count < 20; count++) await write(`${count}`);
  await master.kill();
  const killedAt = performance.now();
  await until(() => write(`${count}`));
  console.log(`events continue ${Math.round(performance.now() - killedAt)} ms after the master was killed`);
  for (count++; count < 40; count++) await write(`${count}`);
  await until(() => seen.length >= 40);
  expect(seen.map(noteOf)).toEqual(Array.from({ length: 40 }, (_, n) => `${n}`));
  await until(async () => {
    for (let n = 0; n < MANY; n++) if (!(await shared())) return false;
    return true;
  });
}

/** An outbox whose events one process publishes, and what another one receives. */
async function follow(url: string) {
  const database = await openTestDatabase();
  const [writer, reader] = [await RedisBus.create(url), await RedisBus.create(url)];
  onTestFinished(async () => void (await Promise.all([writer.close(), reader.close()])));
  const relay = startRelay(database, writer);
  const seen = collect(await new EventsService(database, reader, TEST_CURSORS).follow(filter));
  const write = async (note: string) => {
    await database.transaction((tx) => appendEvents(tx, [fileEvent(filter.subject, note)]));
    relay.nudge();
    const waiting = "select 1 from outbox where position is null";
    await until(async () => (await database.rows(waiting)).length === 0);
  };
  return { write, seen };
}

async function limitOn(url: string) {
  const connections = [1, 2].map(() => openRedis(parseRedisUrl(url), () => {}));
  onTestFinished(async () => connections.forEach(dropRedis));
  await Promise.all(connections.map((connection) => connection.connect()));
  const limits = connections.map((connection) => new RedisRateLimit(connection, "t", LIMIT));
  let subject = 0;
  return {
    take: (name: string) => limits[0]?.take(name),
    /** Whether both processes count together. */
    async shared() {
      const name = `shared ${subject++}`;
      for (let n = 0; n < LIMIT; n++) await limits[0]?.take(name);
      return (await limits[1]?.take(name))?.isOver === true;
    },
  };
}
