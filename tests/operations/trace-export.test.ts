import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { context, propagation, trace } from "@opentelemetry/api";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { droppedSpans, inSpan } from "../../src/kernel/tracing.ts";
import { startTraces } from "../../src/metrics/trace-export.ts";
import { scaled } from "../support/machine.ts";
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

test("a value of a standard variable that the exporter could not use is refused with its name, and not repeated", async () => {
  const url = "http://127.0.0.1:9";
  const wrong: readonly (readonly [string, readonly string[]])[] = [
    ["COMPRESSION", ["zip", "GZIP"]],
    ["TIMEOUT", ["x", "0", "-1", "5s", "Infinity", "3000000000"]],
    ["HEADERS", ["bad", "=secret", "key=", "a=b,secret", "a=%zz", "a b=secret", "a=secret%0A"]],
  ];
  for (const [name, values] of wrong)
    for (const variable of [`OTEL_EXPORTER_OTLP_${name}`, `OTEL_EXPORTER_OTLP_TRACES_${name}`])
      for (const value of values) {
        const failure = await start(url, { [variable]: value }).catch((error: unknown) => error);
        expect([String(failure), value]).toMatchObject([
          expect.stringMatching(new RegExp(`^StartupError: ${variable}: must be `)),
          value,
        ]);
        expect(String(failure)).not.toContain("=secret");
      }
  for (const value of ["x", "=x", "a=b,c", "a=b=c", "a=%zz", `a=${"b".repeat(256)}`])
    await expect(start(url, { OTEL_RESOURCE_ATTRIBUTES: value }), value).rejects.toThrow(
      /^OTEL_RESOURCE_ATTRIBUTES: must be a list of key=value/,
    );
});

test("values that the exporter uses, and empty ones, are accepted", async () => {
  const url = "http://127.0.0.1:9";
  for (const variables of [
    { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip", OTEL_EXPORTER_OTLP_TIMEOUT: "2500" },
    { OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "none", OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "10000" },
    { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic dXNlcjpwYXNz==, x-tenant=a%2Cb;metadata," },
    { OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=production,team=a%20b, empty=" },
    { OTEL_EXPORTER_OTLP_COMPRESSION: "", OTEL_EXPORTER_OTLP_TIMEOUT: " ", OTEL_RESOURCE_ATTRIBUTES: "" },
  ])
    await start(url, variables);
});

test("an export ends after the timeout that is set", async () => {
  // Accepts connections and never answers.
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const timeout = { OTEL_EXPORTER_OTLP_TIMEOUT: "50" };
  const lines = await start(`http://127.0.0.1:${port}`, timeout);
  const startedMs = performance.now();
  await inSpan("work", {}, async () => {});
  await until(() => droppedSpans() === 1);
  expect(performance.now() - startedMs).toBeLessThan(scaled(4_000));
  expect(lines.filter((line) => line.includes("does not accept traces"))).toHaveLength(1);
});
