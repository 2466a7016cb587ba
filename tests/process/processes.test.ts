// @module-tag large
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import { MODEL, startNetwork } from "../support/chain/network.ts";
import { PATIENT_PROVIDERS } from "../support/patient-providers.ts";
import { createServerDatabase, openPatiently } from "../support/servers/database.ts";
import { freePort } from "../support/servers/postgres.ts";
import {
  childrenOf,
  isAlive,
  newFolder,
  type ReadyProcess,
  runProcess,
  startReady,
} from "../support/servers/process.ts";
import { startRedis } from "../support/servers/redis.ts";
import { until } from "../support/until.ts";
import { chat, QUESTION } from "./chat.ts";
import { type Customer, newCustomer } from "./split/split-product.ts";

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
afterAll(async () => {
  for (const end of ends) await end();
});

const skipped = !inject("postgresUrl") || !inject("redisUrl");
if (skipped) console.warn("!! PROCESSES is NOT tested: this machine has no PostgreSQL or no Redis");

test("PROCESSES without a shared database, bus and chain is refused with a line for each", async () => {
  const { code, stderr } = await runProcess({ settings: { PROCESSES: "2", DATA_DIR: newFolder() } });
  expect(code).toBe(1);
  expect(stderr.match(/^ {2}\w+(?=: required with PROCESSES)/gm)).toEqual([
    "  DATABASE_URL",
    "  REDIS_URL",
    "  RPC_URL",
  ]);
});

describe.skipIf(skipped)("two processes on one port", () => {
  let database: Database;
  let customer: Customer;
  let product: ReadyProcess;
  let metricsPort: number;

  beforeAll(async () => {
    const [{ rpcUrl }, url, redis] = await Promise.all([
      startNetwork(onEnd),
      createServerDatabase(onEnd),
      startRedis(),
    ]);
    onEnd(() => redis.stop());
    database = await openPatiently(url, 4);
    onEnd(() => database.close());
    customer = await newCustomer(database, 10_000_000n);
    metricsPort = await freePort();
    const settings = {
      ...PATIENT_PROVIDERS,
      ...{ DATABASE_URL: url, REDIS_URL: redis.url, RPC_URL: rpcUrl, DATA_DIR: newFolder(onEnd) },
      ...{ PROCESSES: "2", METRICS_PORT: String(metricsPort), CATALOGUE_REFRESH_MS: "1000" },
    };
    product = await startReady({ settings, onEnd });
    await product.saw(/2 processes are ready/);
  });

  /** The chats that each process has answered, by its own metrics. */
  async function chatsOf(): Promise<readonly number[]> {
    const texts = [0, 1].map(async (number) => {
      const reply = await fetch(`http://127.0.0.1:${metricsPort + number}/metrics`);
      const counts = (await reply.text()).matchAll(
        /^\w+_count\{[^}]*route="\/v1\/chat\/completions"[^}]*\} (\d+)/gm,
      );
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    });
    return Promise.all(texts);
  }

  /** Sends chats one by one, on a connection each: the kernel gives it to one of the processes. */
  async function sendChats(count: number): Promise<readonly (number | undefined)[]> {
    const statuses: (number | undefined)[] = [];
    for (let n = 0; n < count; n++) {
      const sent = request(`${product.origin}/v1/chat/completions`, {
        method: "POST",
        agent: false,
        headers: { "content-type": "application/json", authorization: `Bearer ${customer.secret}` },
      });
      sent.end(JSON.stringify({ model: MODEL, messages: QUESTION, max_tokens: 2 }));
      const [reply]: [IncomingMessage] = (await once(sent, "response")) as [IncomingMessage];
      await text(reply);
      statuses.push(reply.statusCode);
    }
    return statuses;
  }

  test("offer the wallet of the development network that another process runs", async () => {
    const reply = await fetch(`${product.origin}/dashboard/development-wallet`);
    expect([reply.status, await reply.json()]).toMatchObject([
      200,
      { address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) },
    ]);
  });

  test("share the requests, and each shows its own metrics", async () => {
    let sent = 0;
    const counts = await until(async () => {
      expect(new Set(await sendChats(10))).toEqual(new Set([200]));
      sent += 10;
      const shares = await chatsOf();
      return shares.every((count) => count > 0) && shares;
    });
    expect(counts.reduce((sum, count) => sum + count)).toBe(sent);
    expect(product.stdout().match(/OpenAI clients/g)).toHaveLength(1);
  });

  test("one that is killed is replaced, while the other serves", async () => {
    const before = await childrenOf(product.pid);
    expect(before).toHaveLength(2);
    process.kill(before[1] ?? 0, "SIGKILL");
    await until(async () => !(await isAlive(before[1] ?? 0)));
    // A connection that the kernel gave it while it died is reset.
    await until(async () => expect(new Set(await sendChats(4))).toEqual(new Set([200])));
    await until(async () => {
      const present = await childrenOf(product.pid);
      return present.length === 2 && present.includes(before[0] ?? 0) && !present.includes(before[1] ?? 0);
    });
    await until(async () => {
      await sendChats(2);
      return ((await chatsOf())[1] ?? 0) > 0;
    });
    expect(product.stderr()).toContain("a process ended by itself and is replaced");
  });

  test("one whose port another program took is replaced once it is free, and that is logged once", async () => {
    const [, second = 0] = await childrenOf(product.pid);
    // Stopped, so that it cannot start another process before this test has the port.
    process.kill(product.pid, "SIGSTOP");
    process.kill(second, "SIGKILL");
    const foreign = await until(async () => {
      const server = createServer().listen(metricsPort + 1, "127.0.0.1");
      await once(server, "listening");
      return server;
    }).finally(() => process.kill(product.pid, "SIGCONT"));
    const line = "a process is not replaced until its port is free; the others serve";
    await until(() => product.stderr().includes(line));
    expect(product.stderr()).toContain(`METRICS_PORT: port ${metricsPort + 1} of process 1 is in use`);
    expect(await childrenOf(product.pid)).toHaveLength(1);
    expect(new Set(await sendChats(4))).toEqual(new Set([200]));
    foreign.close();
    await until(async () => {
      await sendChats(2);
      return ((await chatsOf())[1] ?? 0) > 0;
    });
    expect(product.stderr().split(line)).toHaveLength(2);
  });

  test("SIGTERM to their supervisor ends both after their requests, and the ledger is exact", async () => {
    const children = await childrenOf(product.pid);
    const running = chat(product.origin, customer.secret, { max_tokens: 50, stream: true });
    const reply = await running;
    expect(await product.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect((await reply.text()).endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await Promise.all(children.map(isAlive))).toEqual([false, false]);
    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });
});
