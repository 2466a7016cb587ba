import { expect, test } from "vitest";
import { periodStart } from "../../../src/keys/api-keys/reset-period.ts";

test.each([
  ["daily", "2026-03-01T23:59:59.999Z", "2026-03-01T00:00:00.000Z"],
  ["daily", "2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"],
  ["weekly", "2026-03-01T12:00:00.000Z", "2026-02-23T00:00:00.000Z"],
  ["weekly", "2026-03-02T00:00:00.000Z", "2026-03-02T00:00:00.000Z"],
  ["monthly", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00.000Z"],
  ["monthly", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
] as const)("the %s period of %s began at %s", (period, at, start) => {
  expect(periodStart(period, new Date(at))?.toISOString()).toBe(start);
});

test("without a period there is no start of the period", () => {
  expect(periodStart("never", new Date())).toBeNull();
});
