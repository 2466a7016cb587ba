// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { RedisBus } from "../../src/events/bus.redis.ts";
import { collect, publishedFile, take } from "../support/events.ts";
import { scaled } from "../support/machine.ts";
import { startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { freePort } from "../support/servers/postgres.ts";
import { startRedis } from "../support/servers/redis.ts";
import { until } from "../support/until.ts";

const TOPIC = "file.submitted";

describe.skipIf(!inject("redisUrl"))("bus: Redis outage", () => {
  test("a reader misses nothing when Redis is killed and restarts with its data", async () => {
    const { server, bus } = await start({ appendOnly: true });
    const other = await connect(server.url);
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await other.publish([publishedFile(1), publishedFile(2)]);
    await until(() => seen.length === 2);
    await server.kill();
    await server.start();
    await until(() => other.publish([publishedFile(3), publishedFile(4)]));
    await until(() => seen.length === 4);
    await other.publish([publishedFile(5)]);
    await until(() => seen.length === 5);
    expect(seen.map(({ position }) => position)).toEqual([1n, 2n, 3n, 4n, 5n]);
  });

  test("a reader continues with new events when Redis restarts empty", async () => {
    const { server, bus } = await start({ appendOnly: false });
    const stream = await bus.subscribe({ topic: TOPIC });
    await bus.publish([publishedFile(1)]);
    await take(stream, 1);
    await server.kill();
    await server.start({ keepData: false });
    await until(() => bus.publish([publishedFile(2)]));
    expect((await take(stream, 1))[0]?.position).toBe(2n);
  });

  test("commands fail within 2 s while Redis is down, and a live reader can still connect", async () => {
    const { server, bus } = await start({ appendOnly: false });
    await server.kill();
    const before = performance.now();
    await expect(bus.publish([publishedFile(1)])).rejects.toThrow();
    await expect(bus.newestPosition()).rejects.toThrow();
    await expect((await bus.subscribe({ topic: TOPIC }, 0n)).next()).rejects.toThrow();
    expect(performance.now() - before).toBeLessThan(scaled(4_000));
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    await server.start();
    await until(() => bus.publish([publishedFile(1)]));
    await until(() => seen.length === 1);
  });

  test("a hanging Redis is given up within 2 s, and used again when it responds", async () => {
    const { server, bus } = await start({ appendOnly: false });
    const seen = collect(await bus.subscribe({ topic: TOPIC }));
    server.freeze();
    const before = performance.now();
    await expect(bus.publish([publishedFile(1)])).rejects.toMatchObject({ code: "unavailable" });
    expect(performance.now() - before).toBeLessThan(scaled(3_000));
    server.thaw();
    await until(() => bus.publish([publishedFile(2)]));
    await until(() => seen.at(-1)?.position === 2n);
  });

  test("a restarted Redis, which may lack the newest events, gets none before it has those", async () => {
    const { server, bus } = await start({ appendOnly: true });
    expect(await bus.isSeeded()).toBe(false);
    await bus.markSeeded();
    expect(await bus.isSeeded()).toBe(true);
    const [first, second] = [publishedFile(1), publishedFile(2)];
    await bus.publish([first]);
    await server.kill();
    await server.start();
    await until(() => bus.newestPosition());
    await expect(bus.publish([second])).rejects.toThrow(/replaced or restarted/);
    expect(await bus.isSeeded()).toBe(false);
    await bus.restore([first, second]);
    await bus.markSeeded();
    expect(await bus.isSeeded()).toBe(true);
    expect(await bus.newestPosition()).toBe(2n);
  });

  test("close() ends a bus at once while Redis is down", async () => {
    const { server, bus } = await start({ appendOnly: false });
    const waiting = (await bus.subscribe({ topic: TOPIC })).next();
    await server.kill();
    const before = performance.now();
    await bus.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(performance.now() - before).toBeLessThan(scaled(2_000));
  });
});

test.skipIf(!inject("redisUrl"))("a Redis that answers after 6 s can be opened", async () => {
  const server = await startRedis({ appendOnly: false });
  onTestFinished(() => server.stop());
  const proxy = await startPausableProxy(Number(new URL(server.url).port));
  onTestFinished(() => proxy.close());
  proxy.pause();
  const opening = connect(`redis://127.0.0.1:${proxy.port}`);
  setTimeout(() => proxy.resume(), 6_000);
  const bus = await opening;
  expect(await bus.newestPosition()).toBe(0n);
});

test("an address without Redis is reported in one line within 5 s", async () => {
  const port = await freePort();
  const before = performance.now();
  const failure = await RedisBus.create(`redis://:secret@127.0.0.1:${port}`).catch(
    (error: Error) => error.message,
  );
  expect(failure).toMatch(new RegExp(`^REDIS_URL: 127\\.0\\.0\\.1:${port} is unreachable \\(.*\\)$`));
  expect(failure).not.toContain("secret");
  expect(performance.now() - before).toBeLessThan(scaled(6_000));
});

async function start({ appendOnly }: { appendOnly: boolean }) {
  const server = await startRedis({ appendOnly });
  onTestFinished(() => server.stop());
  return { server, bus: await connect(server.url) };
}

async function connect(url: string): Promise<RedisBus> {
  const bus = await RedisBus.create(url);
  onTestFinished(() => bus.close());
  return bus;
}
