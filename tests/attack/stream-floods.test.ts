// @module-tag large
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterAll, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { rawRequest, watch } from "../support/attack/attack.ts";
import { slowness } from "../support/attack/event-loop.ts";
import { seedAccount } from "../support/seed.ts";
import { newFolder } from "../support/servers/process.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const STREAMS = 200;
const FLOOD_MS = 6_000;
/** Processor time of this thread, which is also that of the clients, during a health check. */
const MAX_HEALTH_MS = 400;

const provider = new Worker(new URL("../support/attack/flooding-provider.worker.ts", import.meta.url));
const [port] = await once(provider, "message");
const ends: (() => Promise<void>)[] = [async () => void (await provider.terminate())];
const path = join(
  newFolder((end) => void ends.push(end)),
  "providers.json",
);
const offer = { id: "flood", pricing: { prompt: "1", completion: "1" } };
const server = { name: "flooding", url: `http://127.0.0.1:${port}/v1`, models: [offer] };
writeFileSync(path, JSON.stringify({ providers: [server] }));
const stack = useStack({ PROVIDERS_FILE: path });
afterAll(async () => {
  for (const end of ends) await end();
});

test(`${STREAMS} unread streams of a flooding provider leave the event loop to other clients`, async () => {
  const { app, origin } = stack();
  const seeded = await seedAccount(app.database, 10n ** 18n);
  const body = JSON.stringify({
    ...{ model: "flood", stream: true, max_tokens: 20_000 },
    messages: [{ role: "user", content: "What is the sea?" }],
  });
  const request = rawRequest("POST", "/v1/chat/completions", body, {
    authorization: `Bearer ${seeded.secret}`,
  });
  const stop = watch(origin, process.pid);
  const begun: Socket[] = [];
  const sockets = Array.from({ length: STREAMS }, () => {
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.once("readable", () => void begun.push(socket));
    socket.write(request);
    return socket;
  });
  await until(async () => begun.length === STREAMS);
  await sleep(FLOOD_MS);
  // All leave in the same turn, as where a proxy ends, and each part of an answer is counted and billed.
  for (const socket of sockets) socket.destroy();
  await until(async () => app.load.memory.usedBytes === 0);
  const seen = await stop();
  expect(seen.failure).toBe("");
  expect(seen.worstMs).toBeLessThan(MAX_HEALTH_MS * slowness());
  await until(async () => (await new LedgerService(app.database).verify()).openHolds === 0);
});
