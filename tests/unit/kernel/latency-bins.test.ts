import { expect, test } from "vitest";
import { latencyBinOf, MAX_LATENCY_BIN, percentileMs } from "../../../src/kernel/latency-bins.ts";

test("a duration is above the bound before its bin and not above its own", () => {
  for (let ms = 1; ms < 200_000; ms = Math.ceil(ms * 1.01)) {
    const bin = latencyBinOf(ms);
    expect(ms).toBeLessThanOrEqual(2 ** (bin / 4) * (1 + 1e-9));
    if (bin > 0) expect(ms).toBeGreaterThan(2 ** ((bin - 1) / 4) * (1 - 1e-9));
  }
  expect([0, 1, 2, 4, 8, 1_024].map(latencyBinOf)).toEqual([0, 0, 4, 8, 12, 40]);
  expect(latencyBinOf(Number.MAX_SAFE_INTEGER)).toBe(MAX_LATENCY_BIN);
});

test("a percentile is within 10 % of the exact one, and undefined of nothing", () => {
  const times = Array.from({ length: 5_000 }, (_, n) => 20 + ((n * 7_919) % 3_000));
  const sorted = times.toSorted((one, other) => one - other);
  const counts = new Map<number, number>();
  for (const ms of times) counts.set(latencyBinOf(ms), (counts.get(latencyBinOf(ms)) ?? 0) + 1);
  const bins = [...counts].map(([bin, count]) => ({ bin, count }));
  for (const fraction of [0.01, 0.5, 0.9, 0.95, 1]) {
    const exact = sorted[Math.ceil(sorted.length * fraction) - 1] ?? 0;
    expect(Math.abs((percentileMs(bins, fraction) ?? 0) - exact) / exact).toBeLessThan(0.1);
  }
  expect(percentileMs([], 0.5)).toBeUndefined();
  expect(percentileMs([{ bin: 3, count: 0 }], 0.5)).toBeUndefined();
});
