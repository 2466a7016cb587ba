// @module-tag medium
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { ImageJobClient } from "../../src/inference/images/jobs/image-job.client.ts";
import { ProviderClient } from "../../src/inference/providers/exchange/provider.client.ts";
import { HealthService } from "../../src/inference/providers/health/health.service.ts";
import type { Provider } from "../../src/inference/providers/provider.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { MemoryBudget, memoryLimits } from "../../src/load/memory-budget.ts";
import { done, startJobBroker } from "../support/chain/job-broker.ts";
import { openJobWorld } from "../support/inference/image-jobs.ts";
import { scaled } from "../support/machine.ts";
import { until } from "../support/until.ts";

const SILENCE_MS = scaled(500);

/** Polls a job of a provider that answers like this, with a limit on silence and ten times as much until the deadline. */
async function poll(answer: (response: ServerResponse) => Promise<void>) {
  const server = createServer((_, response) => void answer(response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = { address: "0xaa", source: "chain", url, model: "m" } as unknown as Provider;
  const providers = new ProviderClient({
    credentials: { secretFor: async () => "app-sk-test", forget() {} },
    deadlines: { connectMs: 60_000, firstByteMs: 300_000, silenceMs: 300_000, totalMs: 300_000 },
    connections: 4,
    allowsPrivate: true,
  });
  onTestFinished(async () => {
    await providers.close();
    server.close();
    server.closeAllConnections();
  });
  const client = new ImageJobClient({
    ...{ providers, catalogue: { provider: () => provider }, silenceMs: SILENCE_MS },
    health: new HealthService({ clock: systemClock, coolDownMs: 1_000 }),
    memory: new MemoryBudget(memoryLimits(64 * 1_048_576)),
  });
  const { signal } = new AbortController();
  return client.poll("0xaa", "job", { model: "m", signal, leftMs: 10 * SILENCE_MS });
}

test("images that arrive slowly are received, for as long as the provider sends and the job may take", async () => {
  const result = JSON.stringify(done().body);
  const answer = await poll(async (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(result.slice(0, 10));
    for (const endMs = performance.now() + 2 * SILENCE_MS; performance.now() < endMs; ) {
      await sleep(SILENCE_MS / 10);
      response.write(" ");
    }
    response.end(result.slice(10));
  });
  expect(JSON.parse(answer?.body.toString() ?? "")).toMatchObject({ status: "completed" });
});

test("a poll ends when the provider is silent", async () => {
  const started = performance.now();
  expect(await poll(() => new Promise(() => {}))).toBeUndefined();
  expect(
    await poll(async (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("{");
    }),
  ).toBeUndefined();
  expect(performance.now() - started).toBeLessThan(10 * SILENCE_MS);
});

test("a job whose result broke off after a long transfer is polled again, and not made by another provider", async () => {
  let passedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs };
  const first = await startJobBroker(onTestFinished, {
    poll: (n) => {
      if (n > 0) return done();
      passedMs += 90_000;
      return { status: 200, body: '{"status":"completed","data":{"created":7,"data":[{"b64_json":"aGVs' };
    },
  });
  const second = await startJobBroker(onTestFinished);
  const world = await openJobWorld("embedded", onTestFinished, [first, second], { clock });
  const seeded = await world.seed();
  const id = await world.submit(seeded);
  world.startWorker();
  await until(async () => (await world.jobs.get(seeded, id)).state === "completed");
  expect([first.submissions.length, second.submissions.length]).toEqual([1, 0]);
});

test("a provider that answers a submission with 201 and the id of its job has accepted it", async () => {
  const first = await startJobBroker(onTestFinished, {
    submission: (_n, _response, id) => {
      first.jobs.push({ id, key: id, body: Buffer.alloc(0), polls: 0 });
      return { status: 201, body: { jobId: id }, headers: { "retry-after": "0" } };
    },
  });
  const second = await startJobBroker(onTestFinished);
  const world = await openJobWorld("embedded", onTestFinished, [first, second]);
  const seeded = await world.seed();
  const id = await world.submit(seeded);
  world.startWorker();
  await until(async () => (await world.jobs.get(seeded, id)).state === "completed");
  expect([first.submissions.length, second.submissions.length]).toEqual([1, 0]);
});
