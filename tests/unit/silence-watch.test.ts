import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SilenceWatch } from "../../packages/client/src/core/silence-watch.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("silence is noticed in time although the clock of the machine is set back", () => {
  let silences = 0;
  const watch = new SilenceWatch(30_000, () => silences++);
  watch.start();
  vi.advanceTimersByTime(20_000);
  watch.heard();
  vi.setSystemTime(Date.now() - HOUR_MS);
  vi.advanceTimersByTime(60_000);
  expect(silences).toBe(1);
});
