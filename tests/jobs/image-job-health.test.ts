// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { ImageJobClient } from "../../src/inference/images/jobs/image-job.client.ts";
import { readJobRequest } from "../../src/inference/images/jobs/image-job-plan.ts";
import { ProviderClient } from "../../src/inference/providers/exchange/provider.client.ts";
import { HealthService } from "../../src/inference/providers/health/health.service.ts";
import type { Provider } from "../../src/inference/providers/provider.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { MemoryBudget, memoryLimits } from "../../src/load/memory-budget.ts";
import { type Reply, startJobBroker } from "../support/chain/job-broker.ts";

/** Submits jobs to a broker that always replies like this, and returns what that says of its health. */
async function healthAfter(submissions: number, reply: Reply | "silent", leftMs = 300_000) {
  const broker = await startJobBroker(onTestFinished, { submission: () => reply });
  const provider = {
    ...{ address: "0xaa", source: "chain", serviceType: "text-to-image", url: broker.url, model: "m" },
    profile: { formats: ["openai"] },
  } as unknown as Provider;
  const providers = new ProviderClient({
    credentials: { secretFor: async () => "app-sk-test", forget() {} },
    // No test is about slow brokers, and on a busy machine none is given up.
    deadlines: { connectMs: 60_000, firstByteMs: 300_000, silenceMs: 300_000, totalMs: 300_000 },
    connections: 4,
    allowsPrivate: true,
  });
  onTestFinished(() => providers.close());
  const health = new HealthService({ clock: systemClock, coolDownMs: 3_600_000 });
  const client = new ImageJobClient({
    ...{ providers, health, catalogue: { provider: () => provider } },
    memory: new MemoryBudget(memoryLimits(64 * 1_048_576)),
  });
  const body = Buffer.from(JSON.stringify({ model: "m", prompt: "a sea" }));
  const request = await readJobRequest({ operation: "generations", contentType: "application/json" }, body);
  const { signal } = new AbortController();
  for (let n = 0; n < submissions; n++)
    await client.submit(provider.address, "generations", { request, key: `${n}`, signal, leftMs });
  return health.of(provider);
}

test("a provider that answers image jobs with errors of its own gets no more requests, as for any other request", async () => {
  const failing = await healthAfter(3, { status: 500, body: { error: { message: "out of memory" } } });
  expect(failing).toMatchObject({ circuit: "open", uptime: 0 });
  const busy = await healthAfter(1, { status: 429, body: {}, headers: { "retry-after": "30" } });
  expect(busy).toMatchObject({ circuit: "closed", isResting: true });
});

test("a provider that accepts image jobs, or blames their requests, is healthy", async () => {
  for (const reply of [
    { status: 202, body: { jobId: "one", status: "pending" } },
    { status: 400, body: { error: { message: "no such size" } } },
  ])
    expect(await healthAfter(3, reply), `${reply.status}`).toMatchObject({ circuit: "closed", uptime: 1 });
});

test("a provider is not at fault for the deadline of a job", async () => {
  expect(await healthAfter(3, "silent", 100)).toMatchObject({ circuit: "closed" });
});
