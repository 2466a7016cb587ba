import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { auditRedis, type RedisReader } from "../audit.ts";
import { until } from "../until.ts";
import { environmentOf } from "./debian-package.ts";
import { findRedis } from "./find-redis.ts";
import { freePort } from "./postgres.ts";

/** A Redis for tests, which can be killed and restarted on the same port, with its data or without. */
export type TestRedis = {
  readonly url: string;
  /** Ends it as kill -9 does. */
  kill(): Promise<void>;
  start(options?: { keepData: boolean }): Promise<void>;
  /** Makes it hang: connections stay open and nothing is answered until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Deletes all of its data. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts a redis-server, or throws if this machine has none and cannot get one. When it is stopped it is
 * searched for secrets, unless `audit` says otherwise.
 */
export async function startRedis({ appendOnly = false, audit = true } = {}): Promise<TestRedis> {
  const found = await findRedis();
  const home = mkdtempSync(join(tmpdir(), "redis-"));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const durability = ["--save", "", "--appendonly", appendOnly ? "yes" : "no", "--appendfsync", "always"];
  const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", home, ...durability];
  const env = environmentOf(found);
  const launch = async () => {
    const server = spawn(found.bin, args, { stdio: "ignore", env });
    await until(() => answers(url));
    return server;
  };
  let server = await launch();
  const end = async (signal: NodeJS.Signals) => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill(signal);
    await gone;
  };
  return {
    url,
    kill: () => end("SIGKILL"),
    async start({ keepData } = { keepData: true }) {
      if (!keepData) rmSync(join(home, "appendonlydir"), { recursive: true, force: true });
      server = await launch();
    },
    freeze: () => void server.kill("SIGSTOP"),
    thaw: () => void server.kill("SIGCONT"),
    flush: () => onServer(url, (client) => client.flushAll()),
    async stop() {
      const isUp = server.exitCode === null && server.signalCode === null;
      try {
        if (audit && isUp) await onServer(url, auditRedis);
      } finally {
        await end("SIGTERM");
        rmSync(home, { recursive: true, force: true });
      }
    },
  };
}

async function answers(url: string): Promise<void> {
  await onServer(url, (client) => client.ping());
}

async function onServer(
  url: string,
  work: (
    client: RedisReader & { ping(): Promise<unknown>; flushAll(): Promise<unknown> },
  ) => Promise<unknown>,
): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    client.destroy();
  }
}
