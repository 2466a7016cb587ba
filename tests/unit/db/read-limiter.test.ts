import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReadLimiter, type ReadLimits } from "../../../src/db/read-limiter.ts";

const LIMITS: ReadLimits = {
  maxRunning: 2,
  maxRunningPerAccount: 1,
  maxWaiting: 4,
  maxWaitingPerAccount: 2,
  waitMs: 60_000,
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Reads that the test ends by name. */
function openReads(limits: Partial<ReadLimits> = {}) {
  const limiter = new ReadLimiter({ ...LIMITS, ...limits });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const read = (account: string, name: string, signal?: AbortSignal) =>
    limiter.run(
      account,
      () => {
        started.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      },
      signal,
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { read, end, started };
}

test("an account runs one read at a time, and reads of other accounts do not wait for it", async () => {
  const { read, end, started } = openReads();
  const reads = [read("a", "a1"), read("a", "a2"), read("b", "b1"), read("c", "c1")];
  expect(started).toEqual(["a1", "b1"]);
  await end("b1");
  expect(started).toEqual(["a1", "b1", "c1"]);
  await end("a1");
  expect(started).toEqual(["a1", "b1", "c1", "a2"]);
  await end("c1");
  await end("a2");
  expect(await Promise.all(reads)).toEqual(["a1", "a2", "b1", "c1"]);
});

test("an account with more reads waiting rests as long as its read took, at most 100 ms, and others do not wait", async () => {
  const { read, end, started } = openReads({ maxRunning: 1 });
  const reads = [read("a", "a1"), read("a", "a2"), read("b", "b1"), read("a", "a3")];
  await vi.advanceTimersByTimeAsync(30);
  await end("a1");
  await end("b1");
  await vi.advanceTimersByTimeAsync(29);
  expect(started).toEqual(["a1", "b1"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(started).toEqual(["a1", "b1", "a2"]);
  await vi.advanceTimersByTimeAsync(5_000);
  await end("a2");
  await vi.advanceTimersByTimeAsync(99);
  expect(started).toEqual(["a1", "b1", "a2"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(started).toEqual(["a1", "b1", "a2", "a3"]);
  await end("a3");
  reads.push(read("a", "a4"));
  expect(started.at(-1)).toBe("a4");
  await end("a4");
  expect(await Promise.all(reads)).toEqual(["a1", "a2", "b1", "a3", "a4"]);
});

test("a full queue of one account answers rate_limit_exceeded, and a full queue of the process unavailable", async () => {
  const { read, end } = openReads();
  const reads = [read("a", "a1"), read("a", "a2"), read("a", "a3")];
  await expect(read("a", "a4")).rejects.toMatchObject({
    code: "rate_limit_exceeded",
    retryAfterSeconds: expect.any(Number),
  });
  reads.push(read("b", "b1"), read("b", "b2"), read("c", "c1"));
  await expect(read("d", "d1")).rejects.toMatchObject({
    code: "unavailable",
    retryAfterSeconds: expect.any(Number),
  });
  for (const name of ["a1", "b1", "a2", "b2", "a3", "c1", "b2"]) await end(name);
  expect(await Promise.all(reads)).toEqual(["a1", "a2", "a3", "b1", "b2", "c1"]);
});

test("a read that waits too long, or whose client disconnects, never starts and takes no slot", async () => {
  const { read, end, started } = openReads({ waitMs: 1 });
  const running = read("a", "a1");
  const late = expect(read("a", "late")).rejects.toMatchObject({ code: "unavailable" });
  await vi.advanceTimersByTimeAsync(1);
  await late;
  const patient = openReads();
  const leaving = new AbortController();
  const first = patient.read("a", "a1");
  const left = patient.read("a", "left", leaving.signal);
  const second = patient.read("a", "a2");
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: "unavailable" });
  await expect(patient.read("b", "gone", leaving.signal)).rejects.toMatchObject({ code: "unavailable" });
  for (const name of ["a1", "a2"]) await patient.end(name);
  expect(await Promise.all([first, second])).toEqual(["a1", "a2"]);
  expect(patient.started).toEqual(["a1", "a2"]);
  await end("a1");
  await running;
  expect(started).toEqual(["a1"]);
});

test("an account with many waiting reads does not delay the first read of another account", async () => {
  const { read, end, started } = openReads({ maxRunning: 1 });
  const reads = ["a1", "a2", "a3", "b1"].map((name) => read(name.slice(0, 1), name));
  for (const name of ["a1", "b1", "a2", "a3"]) await end(name);
  await Promise.all(reads);
  expect(started).toEqual(["a1", "b1", "a2", "a3"]);
});

test("a failed read releases its slot", async () => {
  const limiter = new ReadLimiter({ ...LIMITS, maxRunning: 1 });
  await expect(limiter.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await limiter.run("a", async () => 7)).toBe(7);
});
