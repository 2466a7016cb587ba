import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { inBatches, PeriodicTask } from "../../../src/kernel/async/periodic-task.ts";
import { inSpan, openSpan, useTracer } from "../../../src/kernel/tracing.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a task runs at once and at every interval until it is stopped, and again after a restart", async () => {
  let runs = 0;
  const task = new PeriodicTask({ everyMs: 1_000, work: async () => void runs++, failed: () => {} });
  task.start();
  task.start();
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(runs).toBe(4);
  await task.stop();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(runs).toBe(4);
  task.start();
  expect(runs).toBe(5);
  await task.stop();
});

test("runs never overlap, and stopping waits for the run in progress", async () => {
  const open: (() => void)[] = [];
  const task = new PeriodicTask({
    everyMs: 1_000,
    work: () => new Promise<void>((resolve) => void open.push(resolve)),
    failed: () => {},
  });
  task.start();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(open).toHaveLength(1);
  let isStopped = false;
  const stopped = task.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(isStopped).toBe(false);
  open[0]?.();
  await stopped;
});

test("runs of a task that was started or called inside a span are in no trace", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  useTracer(provider.getTracer("test"));
  onTestFinished(() => {
    useTracer(undefined);
    context.disable();
  });
  let runs = 0;
  const work = async () => {
    runs += 1;
    openSpan("statement", { onlyInside: true })?.end();
  };
  const task = new PeriodicTask({ everyMs: 1_000, work, failed: () => {} });
  await inSpan("request", {}, async () => {
    task.start();
    await task.run();
    openSpan("statement of the request", { onlyInside: true })?.end();
  });
  await vi.advanceTimersByTimeAsync(2_000);
  await task.stop();
  expect(runs).toBe(3);
  expect(trace.getSpan(context.active())).toBeUndefined();
  await provider.forceFlush();
  const names = exporter.getFinishedSpans().map(({ name }) => name);
  expect(names).toEqual(["statement of the request", "request"]);
});

test("a failed run is reported, and the next interval runs again", async () => {
  const failures: unknown[] = [];
  let runs = 0;
  const task = new PeriodicTask({
    everyMs: 1_000,
    work: async () => {
      runs += 1;
      if (runs === 1) throw new Error("no");
    },
    failed: (error) => failures.push(error),
  });
  task.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(failures).toEqual([new Error("no")]);
  expect(runs).toBe(2);
  await task.stop();
});

test("rows are deleted in batches until a batch is not full", async () => {
  const batches = [10, 10, 3];
  const limits: number[] = [];
  const deleted = await inBatches(10, async (limit) => {
    limits.push(limit);
    return batches.shift() ?? 0;
  });
  expect([deleted, limits]).toEqual([23, [10, 10, 10]]);
});
