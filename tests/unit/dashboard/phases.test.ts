import { expect, test } from "vitest";
import { phasesOf } from "../../../gateway/dashboard/app/pages/requests/phases.ts";

const attempt = (outcome: string, durationMs: number, reason: string | null = null) => ({
  providerAddress: "0x01",
  ...{ outcome, reason, status: reason === null ? null : 503, durationMs },
});
const request = (
  attempts: readonly ReturnType<typeof attempt>[],
  timing: { firstByteMs: number | null; durationMs: number | null },
) => ({ createdAt: "", finishedAt: null, timing, routing: { attempts } });

test("attempts follow each other to the end of the request, and the answer begins at the first byte", () => {
  const phases = phasesOf(
    request([attempt("FAILED", 30, "busy"), attempt("ANSWERED", 60)], { firstByteMs: 70, durationMs: 100 }),
  );
  expect(phases.map(({ name, startMs, endMs }) => [name, startMs, endMs])).toEqual([
    ["Preparation", 0, 10],
    ["Attempt 1", 10, 40],
    ["Attempt 2", 40, 70],
    ["Answer", 70, 100],
  ]);
  expect(phases[1]).toMatchObject({ tone: "bad", detail: "busy, status 503" });
});

test("an attempt without a byte is one phase", () => {
  const phases = phasesOf(request([attempt("FAILED", 20, "silent")], { firstByteMs: null, durationMs: 20 }));
  expect(phases).toHaveLength(1);
});

test("durations that were rounded never begin before the request", () => {
  const phases = phasesOf(
    request([attempt("FAILED", 6), attempt("ANSWERED", 6)], { firstByteMs: 8, durationMs: 10 }),
  );
  for (const { startMs, endMs } of phases) {
    expect(startMs).toBeGreaterThanOrEqual(0);
    expect(endMs).toBeGreaterThanOrEqual(startMs);
  }
});

test("a request without attempts, such as one with a stored answer, has none", () => {
  expect(phasesOf(request([], { firstByteMs: null, durationMs: 3 }))).toEqual([]);
});
