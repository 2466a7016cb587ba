import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { context, propagation, trace } from "@opentelemetry/api";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { droppedSpans, inSpan } from "../../src/kernel/tracing.ts";
import { startTraces } from "../../src/metrics/trace-export.ts";
import { freePort } from "../support/servers/postgres.ts";
import { newFolder } from "../support/servers/process.ts";
import { startTraceCollector } from "../support/servers/trace-collector.ts";
import { until } from "../support/until.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  for (const api of [trace, context, propagation]) api.disable();
});

/** Starts tracing to this collector. Returns the log lines, which grow. */
async function start(endpoint: string, variables: Readonly<Record<string, string>> = {}) {
  const lines: string[] = [];
  // The SDK reads the environment itself.
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
  const end = await startTraces(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }), "test", {
    log: createLogger("info", { write: (line) => void lines.push(line) }),
    variable: (name) => variables[name],
  });
  if (end) onTestFinished(end);
  return lines;
}

test("a collector that cannot be reached is logged once, and once when it can, and lost spans are counted", async () => {
  const port = await freePort();
  const lines = await start(`http://127.0.0.1:${port}`);
  expect(droppedSpans()).toBe(0);
  const makeSpans = async (count: number) => {
    for (let n = 0; n < count; n++) await inSpan("work", {}, async () => {});
  };
  await makeSpans(3);
  await until(() => droppedSpans() === 3);
  await makeSpans(2);
  await until(() => droppedSpans() === 5);
  // An export takes 512 of them, and the queue holds 2,048.
  await makeSpans(3_000);
  expect(droppedSpans()).toBeGreaterThanOrEqual(5 + 3_000 - 512 - 2_048);
  expect(lines.filter((line) => line.includes("does not accept traces"))).toHaveLength(1);
  expect(lines.join()).toMatch(/ECONNREFUSED/);

  const collector = await startTraceCollector(onTestFinished, port);
  await until(async () => {
    await makeSpans(1);
    return collector.spans.length > 0;
  });
  await until(() => lines.some((line) => line.includes("traces are exported again")));
  expect(lines).toHaveLength(2);
});

test("a certificate or key that cannot be read is refused with its variable", async () => {
  const folder = newFolder();
  const file = join(folder, "ca.pem");
  writeFileSync(file, "");
  const url = "https://127.0.0.1:9";
  for (const name of ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY", "TRACES_CERTIFICATE"])
    for (const [path, code] of [
      [join(folder, "missing.pem"), "ENOENT"],
      [folder, "EISDIR"],
    ] as const) {
      const variable = `OTEL_EXPORTER_OTLP_${name}`;
      await expect(start(url, { [variable]: path })).rejects.toThrow(
        `${variable}: ${path} cannot be read (${code}).`,
      );
    }
  await start(url, { OTEL_EXPORTER_OTLP_CERTIFICATE: file });
});
