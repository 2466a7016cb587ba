import { expect, test } from "vitest";
import { type Ended, growthOf, judge } from "../soak/judge.ts";
import type { Sample } from "../soak/sample.ts";

const MIB = 1_048_576;
const PROCESS = {
  residentBytes: 300 * MIB,
  childrenBytes: 0,
  heapBytes: 0,
  handles: 20,
  descriptors: 40,
  delayMs: 10,
};

/** A minute of a product that keeps 4 kB a request, and nothing else. */
function minuteOf(minute: number, changes: Partial<Sample> = {}): Sample {
  const billed = minute * 1_000;
  return {
    ...{ minute, billed, actions: billed, uploadedBytes: minute * MIB, share: 0.3, redisBytes: undefined },
    ...{ processes: { product: PROCESS }, tables: {}, outbox: 2 * billed, unpublished: 3 },
    ...{ dataBytes: billed * 4_000, walBytes: 64 * MIB, storedBytes: minute * MIB },
    ...{ holds: 0, allotments: 0, jobs: 0 },
    ...changes,
  };
}

const ENDED: Ended = {
  ...{
    idle: minuteOf(60, { unpublished: 0 }),
    liveHeaps: [{ product: 90 * MIB }, { product: 91 * MIB }] as const,
  },
  ...{ maxWalBytes: 128 * MIB, settled: 60_000, mustBeSettled: 60_000, maySettle: 60_010 },
  ...{ refused: 0, failures: 0, ledgerFault: undefined },
};

/** The bounds that an hour breaks in which each minute is changed. */
function broken(change: (minute: number) => Partial<Sample> = () => ({}), ended: Partial<Ended> = {}) {
  const samples = Array.from({ length: 60 }, (_, n) => minuteOf(n + 1, change(n + 1)));
  return judge(samples, { ...ENDED, ...ended })
    .filter(({ isKept }) => !isKept)
    .map(({ what }) => what);
}

const resident = (mib: number) => ({ processes: { product: { ...PROCESS, residentBytes: mib * MIB } } });

test("a product that keeps only what its requests add passes", () => {
  expect(broken()).toEqual([]);
});

test("memory may rise in the first half and vary by any garbage collection, and not grow until the end", () => {
  expect(broken((minute) => resident(minute < 25 ? 100 + 20 * minute : 600 + 50 * (minute % 2)))).toEqual([]);
  expect(broken((minute) => resident(300 + 2 * minute))).toEqual(["memory of product (mean 391.0 MiB)"]);
  expect(broken(undefined, { liveHeaps: [{ product: 90 * MIB }, { product: 101 * MIB }] })).toEqual([
    "live heap of product (90.0 MiB early)",
  ]);
});

test("handles and file descriptors may not grow", () => {
  const product = (minute: number) => ({ ...PROCESS, handles: 20 + minute, descriptors: 40 + 10 * minute });
  expect(broken((minute) => ({ processes: { product: product(minute) } }))).toEqual([
    "handles of product",
    "file descriptors of product",
  ]);
});

test("disk is bounded by the requests and the uploaded bytes, and the log by itself", () => {
  expect(broken((minute) => ({ dataBytes: minute * 1_000 * 12_000 }))).toEqual([
    "disk without WAL, per request, beyond 16 MiB",
  ]);
  expect(broken((minute) => ({ walBytes: (70 + minute) * MIB }))).toEqual(["WAL, at most"]);
  expect(broken((minute) => ({ storedBytes: minute * 2 * MIB }))).toEqual([
    "stored files, times the uploaded bytes",
  ]);
  expect(broken((minute) => ({ unpublished: minute * 50 }))).toEqual(["unpublished events, at most"]);
});

test("nothing is open when idle, the ledger is exact, and each answer is settled once", () => {
  expect(broken(undefined, { idle: minuteOf(60, { unpublished: 0, holds: 1 }) })).toEqual([
    "holds, allotments and jobs open when idle",
  ]);
  expect(broken(undefined, { settled: 59_999 })).toEqual(["settlements in the ledger"]);
  expect(broken(undefined, { settled: 60_011 })).toEqual(["settlements in the ledger"]);
  expect(broken(undefined, { ledgerFault: "a balance is wrong" })).toEqual(["`ledger:verify -- --full`"]);
  expect(broken(undefined, { failures: 1 })).toEqual(["actions that failed otherwise"]);
});

test("growth is that of the straight line through the points", () => {
  const points = [1, 2, 3, 4].map((at) => ({ at, value: 10 * at + (at % 2) }));
  expect(growthOf(points)).toBeCloseTo(29.4);
});
