import { describe, expect, it } from "vitest";
import { longPauseMs, shortPauseMs } from "../../../src/receipts/slice-pause.ts";

describe("the pause after a slice of receipts", () => {
  const share = (utilization: number, lagMs: number) =>
    20 / (20 + shortPauseMs(20) + longPauseMs(20, { utilization, lagMs }));

  it("leaves half of the time to others while few requests are served", () => {
    expect(share(0, 0)).toBe(0.5);
    expect(share(0.49, 3_600_000)).toBe(0.5);
  });

  it("leaves nineteen twentieths to requests while the process is busy with them", () => {
    expect(share(0.5, 0)).toBeCloseTo(0.05);
    expect(share(1, 120_000)).toBeCloseTo(0.05);
  });

  it("leaves half of it to them if receipts would be later than two minutes", () => {
    expect(share(1, 120_001)).toBe(0.5);
  });

  it("is at most two seconds long, twice", () => {
    expect(shortPauseMs(60_000)).toBe(2_000);
    expect(longPauseMs(60_000, { utilization: 1, lagMs: 0 })).toBe(2_000);
  });
});
