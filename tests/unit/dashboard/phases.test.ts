import { expect, test } from "vitest";
import { phasesOf } from "../../../gateway/dashboard/app/pages/requests/phases.ts";

type Given = { readonly reason?: string; readonly startMs?: number };

const attempt = (outcome: string, durationMs: number, { reason, startMs }: Given = {}) => ({
  providerAddress: "0x01",
  ...{ outcome, reason: reason ?? null, status: reason === undefined ? null : 503 },
  ...{ startMs: startMs ?? null, durationMs },
});
const request = (
  attempts: readonly ReturnType<typeof attempt>[],
  timing: { firstByteMs: number | null; durationMs: number; receivedMs?: number; admittedMs?: number },
) => ({ timing: { receivedMs: null, admittedMs: null, ...timing }, routing: { attempts } });

test("a request begins with its authentication and admission, and its attempts where they began", () => {
  const phases = phasesOf(
    request(
      [attempt("FAILED", 30, { reason: "busy", startMs: 4 }), attempt("ANSWERED", 50, { startMs: 40 })],
      { receivedMs: 5, admittedMs: 3, firstByteMs: 70, durationMs: 92 },
    ),
  );
  expect(phases.map(({ name, startMs, endMs }) => [name, startMs, endMs])).toEqual([
    ["Authentication", 0, 5],
    ["Admission", 5, 8],
    ["Attempt 1", 9, 39],
    ["Attempt 2", 45, 75],
    ["Answer", 75, 95],
  ]);
});

test("attempts without a stored start follow each other to the end of the request, and the answer begins at the first byte", () => {
  const phases = phasesOf(
    request([attempt("FAILED", 30, { reason: "busy" }), attempt("ANSWERED", 60)], {
      firstByteMs: 70,
      durationMs: 100,
    }),
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
  const phases = phasesOf(
    request([attempt("FAILED", 20, { reason: "silent" })], { firstByteMs: null, durationMs: 20 }),
  );
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
