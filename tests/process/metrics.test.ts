// @module-tag large
import { expect, test } from "vitest";
import { freePort } from "../support/servers/postgres.ts";
import { newFolder, runProcess, startReady } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

test("a process with a METRICS_PORT serves /metrics and its health there, and ends with it", async () => {
  const started = await startReady({ settings: { DATA_DIR: newFolder(), METRICS_PORT: "0" } });
  const [, place = ""] = await started.saw(/metrics ready at (http:\/\/127\.0\.0\.1:\d+)\/metrics/);
  const metrics = await (await fetch(`${place}/metrics`)).text();
  expect(metrics).toContain("zerograph_holds_open 0");
  expect(metrics).toMatch(/zerograph_watcher_lag_blocks\{watcher="deposits"\} \d/);
  expect(await (await fetch(`${place}/readyz`)).json()).toMatchObject({ status: "ready" });
  expect((await fetch(`${started.origin}/metrics`)).status).toBe(404);
  expect((await fetch(`${started.origin}/openapi.json`)).status).toBe(200);
  // As of a process of any role, whose status is not in this DATA_DIR.
  const elsewhere = { DATA_DIR: newFolder(), METRICS_PORT: new URL(place).port, METRICS_HOST: "0.0.0.0" };
  const status = (...args: readonly string[]) =>
    runProcess({ script: "dist/gateway/cli/status.js", args, settings: elsewhere });
  expect(await status()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^A process of zerograph is ready \(.*\n(?: {2}.*\n)* {2}database: ok$/m),
  });
  expect(JSON.parse((await status("--json")).stdout)).toMatchObject({
    running: true,
    status: "ready",
    parts: { database: "ok" },
  });
  expect(await started.end()).toEqual({ code: 0, signal: null });
  await expect(fetch(`${place}/metrics`)).rejects.toThrow();
  expect(await status("--json")).toMatchObject({ code: 1, stdout: '{"running":false}\n' });
});

test("a process is not ready before it listens", async () => {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const settings = { DATA_DIR: newFolder(), PORT: String(port), METRICS_PORT: String(metricsPort) };
  const started = startReady({ settings });
  const seen = new Set<string>();
  await until(async () => {
    const reply = await fetch(`http://127.0.0.1:${metricsPort}/readyz`);
    const { status, parts } = (await reply.json()) as { status: string; parts: { process: string } };
    seen.add(`${reply.status} ${status}: ${parts.process}`);
    return reply.ok;
  });
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  expect([...seen]).toContain("503 not ready: starting");
  expect(await (await started).end()).toEqual({ code: 0, signal: null });
});
