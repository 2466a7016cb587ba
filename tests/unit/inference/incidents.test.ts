import { expect, test } from "vitest";
import type { FailingHour } from "../../../src/inference/providers/health/health-history.store.ts";
import { incidentsOf } from "../../../src/inference/providers/health/incidents.ts";

const HOUR_MS = 3_600_000;
const DAY = Date.parse("2026-11-26T00:00:00Z");
const NOW = new Date(DAY + 12.5 * HOUR_MS);
const at = (hour: number) => new Date(DAY + hour * HOUR_MS);
const hour = (start: number, failures: number, model = "m"): FailingHour => ({
  ...{ provider: "0xa", model, startsAt: at(start), requests: 10, failures },
});
const M = { provider: "0xa", model: "m" };

test("adjacent failing hours of a model are one incident, from the first to the end of the last", () => {
  expect(
    incidentsOf([hour(4, 10), hour(2, 6), hour(3, 8), hour(3, 10, "other"), hour(7, 5)], [], NOW),
  ).toEqual([
    { ...M, startedAt: at(7), endedAt: at(8), failedShare: 0.5 },
    { ...M, model: "other", startedAt: at(3), endedAt: at(4), failedShare: 1 },
    { ...M, startedAt: at(2), endedAt: at(5), failedShare: 0.8 },
  ]);
});

test("an incident lasts in its hour that has not ended, and while the circuit is open", () => {
  expect(incidentsOf([hour(12, 10)], [], NOW)).toMatchObject([{ endedAt: null }]);
  const open = { ...M, openedAt: at(10.9) };
  expect(incidentsOf([hour(10, 10)], [open], NOW)).toEqual([
    { ...M, startedAt: at(10), endedAt: null, failedShare: 1 },
  ]);
  // A circuit that opened later is another incident, of which no hour is known yet.
  expect(incidentsOf([hour(2, 10)], [open], NOW)).toEqual([
    { ...M, startedAt: at(10.9), endedAt: null, failedShare: undefined },
    { ...M, startedAt: at(2), endedAt: at(3), failedShare: 1 },
  ]);
  expect(incidentsOf([], [], NOW)).toEqual([]);
});
