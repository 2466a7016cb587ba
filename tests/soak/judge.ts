import type { Sample } from "./sample.ts";

/** A statement about a run, with what was measured and the bound. */
export type Check = {
  readonly what: string;
  readonly measured: string;
  readonly bound: string;
  readonly isKept: boolean;
};

/** What is known about a set after the load: `idle` is its state when everything that was begun had ended. */
export type Ended = {
  readonly idle: Sample;
  /** What each process used after a garbage collection, after a quarter of the run and when idle, bytes. */
  readonly liveHeaps: readonly [Readonly<Record<string, number>>, Readonly<Record<string, number>>];
  readonly maxWalBytes: number;
  /** The settlements in the ledger, and between which numbers they must be. */
  readonly settled: number;
  readonly mustBeSettled: number;
  readonly maySettle: number;
  readonly refused: number;
  readonly failures: number;
  /** What `ledger:verify -- --full` printed if it found a fault or an open hold. */
  readonly ledgerFault: string | undefined;
};

type Point = { readonly at: number; readonly value: number };

const MIB = 1_048_576;
/** Of the mean, over the last half of a run. */
const MEMORY_GROWTH = 0.1;
const MIN_MEMORY_GROWTH_BYTES = 24 * MIB;
/** Of what is left after a garbage collection. */
const MIN_HEAP_GROWTH_BYTES = 10 * MIB;
const HANDLE_GROWTH = 10;
/** Stored files stay open in a cache of at most 256 (`src/storage/node/disk/disk-files.ts`). */
const DESCRIPTOR_GROWTH = 256 + HANDLE_GROWTH;
/** Tables with their indexes, and dead rows; the events of a request, which are kept for 24 h, are a part of it. */
const REQUEST_BYTES = 9_000;
/** The embedded database and the server extend their files in steps. */
const DATA_SLACK_BYTES = 16 * MIB;
/** Of uploaded bytes, as files are stored in whole sectors and blocks. */
const STORED_SHARE = 1.5;
const EVENTS_PER_REQUEST = 5;
const MAX_UNPUBLISHED = 2_000;
const REFUSED_SHARE = 0.01;

/** Compares a run with its bounds. Growth is the slope of the last half of the samples, times its duration. */
export function judge(samples: readonly Sample[], ended: Ended): readonly Check[] {
  const half = samples.slice(Math.floor(samples.length / 2));
  const [first, last] = [half[0], half.at(-1)];
  if (!first || !last || first === last) throw new Error("a run needs at least three samples");
  return [
    ...processChecks(half),
    ...heapChecks(ended),
    ...diskChecks(first, last, samples, ended),
    ...endChecks(last, ended),
  ];
}

/** The growth from the first point to the last by the line with the least squares. */
export function growthOf(points: readonly Point[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [at, value] = [mean(points.map((point) => point.at)), mean(points.map((point) => point.value))];
  const products = points.map((point) => (point.at - at) * (point.value - value));
  const squares = points.map((point) => (point.at - at) ** 2);
  const [first, last] = [points[0]?.at ?? 0, points.at(-1)?.at ?? 0];
  return (mean(products) / mean(squares)) * (last - first);
}

function processChecks(half: readonly Sample[]): readonly Check[] {
  const pick = (of: (sample: Sample) => number) =>
    half.map((sample) => ({ at: sample.minute, value: of(sample) }));
  const names = Object.keys(half[0]?.processes ?? {});
  const redis =
    half[0]?.redisBytes === undefined
      ? []
      : [
          memoryCheck(
            "Redis",
            pick(({ redisBytes }) => redisBytes ?? 0),
          ),
        ];
  const of = (name: string, field: "residentBytes" | "childrenBytes" | "handles" | "descriptors") =>
    pick(({ processes }) => processes[name]?.[field] ?? 0);
  return [
    ...names.flatMap((name) => [
      memoryCheck(name, of(name, "residentBytes")),
      ...(of(name, "childrenBytes").some(({ value }) => value > 0)
        ? [memoryCheck(`${name}, its planner`, of(name, "childrenBytes"))]
        : []),
      countCheck(`handles of ${name}`, of(name, "handles")),
      countCheck(`file descriptors of ${name}`, of(name, "descriptors"), DESCRIPTOR_GROWTH),
    ]),
    ...redis,
  ];
}

function memoryCheck(name: string, points: readonly Point[]): Check {
  const mean = points.reduce((sum, { value }) => sum + value, 0) / points.length;
  const bound = Math.max(MIN_MEMORY_GROWTH_BYTES, MEMORY_GROWTH * mean);
  const growth = growthOf(points);
  return check(`memory of ${name} (mean ${mib(mean)})`, growth, bound, (bytes) => signed(mib(bytes), bytes));
}

function heapChecks({ liveHeaps: [early, last] }: Ended): readonly Check[] {
  return Object.entries(last).map(([name, end]) => {
    const start = early[name] ?? 0;
    const bound = Math.max(MIN_HEAP_GROWTH_BYTES, MEMORY_GROWTH * start);
    return check(`live heap of ${name} (${mib(start)} early)`, end - start, bound, (bytes) =>
      signed(mib(bytes), bytes),
    );
  });
}

function countCheck(what: string, points: readonly Point[], bound = HANDLE_GROWTH): Check {
  return check(what, growthOf(points), bound, (count) => signed(count.toFixed(1), count));
}

function diskChecks(first: Sample, last: Sample, samples: readonly Sample[], ended: Ended): readonly Check[] {
  const requests = last.billed - first.billed;
  const data = last.dataBytes - first.dataBytes - DATA_SLACK_BYTES;
  const files =
    (last.storedBytes - first.storedBytes) / Math.max(1, last.uploadedBytes - first.uploadedBytes);
  const most = (of: (sample: Sample) => number) => Math.max(...samples.map(of));
  return [
    check("disk without WAL, per request, beyond 16 MiB", Math.max(0, data / requests), REQUEST_BYTES, bytes),
    check(
      "WAL, at most",
      most(({ walBytes }) => walBytes),
      ended.maxWalBytes,
      mib,
    ),
    check("stored files, times the uploaded bytes", files, STORED_SHARE, (times) => times.toFixed(2)),
    check("events kept, per request", (last.outbox - first.outbox) / requests, EVENTS_PER_REQUEST, (count) =>
      count.toFixed(2),
    ),
    check(
      "unpublished events, at most",
      most(({ unpublished }) => unpublished),
      MAX_UNPUBLISHED,
      String,
    ),
  ];
}

function endChecks({ actions }: Sample, ended: Ended): readonly Check[] {
  const { idle, settled, mustBeSettled, maySettle, refused, failures, ledgerFault } = ended;
  const open = idle.holds + idle.allotments + idle.jobs;
  return [
    check("holds, allotments and jobs open when idle", open, 0, String),
    check("unpublished events when idle", idle.unpublished, 0, String),
    check(
      "answered 503, of all actions",
      refused / actions,
      REFUSED_SHARE,
      (share) => `${(share * 100).toFixed(2)} %`,
    ),
    check("actions that failed otherwise", failures, 0, String),
    {
      what: "settlements in the ledger",
      measured: String(settled),
      bound: mustBeSettled === maySettle ? String(maySettle) : `${mustBeSettled} to ${maySettle}`,
      isKept: settled >= mustBeSettled && settled <= maySettle,
    },
    {
      what: "`ledger:verify -- --full`",
      measured: ledgerFault ?? "exact",
      bound: "exact",
      isKept: ledgerFault === undefined,
    },
  ];
}

function check(what: string, measured: number, bound: number, show: (value: number) => string): Check {
  return { what, measured: show(measured), bound: `<= ${show(bound)}`, isKept: measured <= bound };
}

function bytes(count: number): string {
  return `${Math.round(count)} B`;
}

function mib(count: number): string {
  return `${(count / MIB).toFixed(1)} MiB`;
}

function signed(text: string, value: number): string {
  return value > 0 ? `+${text}` : text;
}
