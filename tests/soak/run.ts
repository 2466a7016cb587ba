import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { withEnds } from "../bench/ends.ts";
import { describeMachine, writeSection } from "../bench/report.ts";
import { countOpenWork } from "../crash/audit.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { runProcess } from "../support/servers/process.ts";
import { until } from "../support/until.ts";
import { type Ended, judge } from "./judge.ts";
import { type SetReport, toMarkdown } from "./report.ts";
import { cpuMsOf, readLiveHeaps, type Sample, takeSample } from "./sample.ts";
import { type SoakedSet, startOneProcess, startSplitSet } from "./sets.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

/**
 * `npm run soak`: mixed traffic for two hours (`-- --minutes 5`) on the built product in one process with the embedded
 * database, and beside it on one with a process per role over PostgreSQL and Redis; `--set pglite` or `--set split` for
 * one of them. Together they and their databases use 30 % of one core (`--percent`). With `--snapshots FOLDER`, the heaps
 * that are compared are written there. Exits with 1 if something grows beyond its bound. Runs of 30 minutes and more
 * write RESULTS.md.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "120" },
    percent: { type: "string", default: "30" },
    set: { type: "string", multiple: true, default: ["pglite", "split"] },
    snapshots: { type: "string" },
  },
});
const MINUTES = Number(values.minutes);
const STARTS: Readonly<Record<string, (onEnd: OnEnd) => Promise<SoakedSet>>> = {
  pglite: startOneProcess,
  split: startSplitSet,
};
const SHARE = Number(values.percent) / 100 / values.set.length;
const snapshotsOf = (when: string) => values.snapshots && join(values.snapshots, when);
const SAMPLE_MS = Math.min(60_000, (MINUTES * 60_000) / 20);
/** How often the rate is corrected, and within which factors at once. */
const STEER_MS = 10_000;
const STEP = { min: 0.8, max: 1.25 } as const;
const MAX_PER_SECOND = 300;
const MIN_MINUTES_TO_WRITE = 30;
const READ_ATTEMPTS = 5;
const READ_AGAIN_MS = 2_000;
const BEGIN = "<!-- soak: written by npm run soak -->";
const END = "<!-- end of soak -->";

if (values.snapshots !== undefined) mkdirSync(values.snapshots, { recursive: true });
await withEnds(async (onEnd) => {
  const startedAt = new Date().toISOString().slice(0, 16);
  const sets: SoakedSet[] = [];
  for (const name of values.set) sets.push(await (STARTS[name] ?? unknown(name))(onEnd));
  const reports = await Promise.all(sets.map((set) => soak(set, onEnd)));
  const text = toMarkdown(
    [
      `- ${startedAt}Z, ${MINUTES} minutes, ${describeMachine()}. ${sets.map(({ name }) => name).join(" and ")}${sets.length > 1 ? " side by side" : ""}, each with its database at ${(SHARE * 100).toFixed(0)} % of one core, which the rate of the actions follows.`,
    ],
    reports,
  );
  console.log(text);
  const broken = reports.flatMap(({ name, checks }) =>
    checks
      .filter(({ isKept }) => !isKept)
      .map(({ what, measured, bound }) => `${name}: ${what}: ${measured}, ${bound}`),
  );
  for (const line of broken) console.error(`BROKEN: ${line}`);
  if (MINUTES >= MIN_MINUTES_TO_WRITE) await writeSection([BEGIN, END], text);
  process.exitCode = broken.length === 0 ? 0 : 1;
});

/** Puts load on a set, records it, and judges what was recorded. */
async function soak(set: SoakedSet, onEnd: OnEnd): Promise<SetReport> {
  const traffic = await startTraffic(set);
  const samples: Sample[] = [];
  const startedMs = performance.now();
  const minuteNow = () => (performance.now() - startedMs) / 60_000;
  const steering = steer(set, traffic, () => minuteNow() >= MINUTES);
  // Thrown where it is awaited.
  steering.catch(() => {});
  let used = cpuMsOf(set);
  let early: Readonly<Record<string, number>> | undefined;
  for (let n = 1; n * SAMPLE_MS <= MINUTES * 60_000; n++) {
    const beganMs = performance.now();
    await sleep(Math.max(0, startedMs + n * SAMPLE_MS - beganMs));
    const before = used;
    used = cpuMsOf(set);
    const share = (used - before) / (performance.now() - beganMs);
    const sample = await again(() => takeSample(set, traffic, { minute: minuteNow(), share }));
    // Resident memory has recovered from the collection when the last half begins.
    if (minuteNow() >= MINUTES / 4) early ??= await again(() => readLiveHeaps(set, snapshotsOf("early")));
    samples.push(sample);
    console.log(`${set.name}: ${describe(sample, traffic)}`);
  }
  await steering;
  await traffic.stop();
  await until(async () => (await countOpenWork(set.queries)) === 0);
  await until(async () => (await takeSample(set, traffic, { minute: 0, share: 0 })).unpublished === 0);
  const idle = await takeSample(set, traffic, { minute: minuteNow(), share: 0 });
  const liveHeaps = [early ?? {}, await readLiveHeaps(set, snapshotsOf("late"))] as const;
  const ended = { ...(await endOf(set, traffic, onEnd)), idle, liveHeaps };
  return { name: set.name, samples, idle, checks: judge(samples, ended) };
}

/** Reads again when that failed, as when a file is removed meanwhile: a failed read must not end hours of load. */
async function again<T>(read: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++)
    try {
      return await read();
    } catch (error) {
      if (attempts === READ_ATTEMPTS) throw error;
      console.error(`read again: ${String(error)}`);
      await sleep(READ_AGAIN_MS);
    }
}

/** Corrects the rate of the actions by the processor time that they cost, until `isOver`. */
async function steer(set: SoakedSet, traffic: Traffic, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const [beganMs, before] = [performance.now(), cpuMsOf(set)];
    await sleep(STEER_MS);
    const share = (cpuMsOf(set) - before) / (performance.now() - beganMs);
    const factor = Math.min(STEP.max, Math.max(STEP.min, Math.sqrt(SHARE / Math.max(share, 0.001))));
    traffic.perSecond = Math.min(MAX_PER_SECOND, traffic.perSecond * factor);
  }
}

/** Reads the settlements, ends the product, and has its ledger verified. */
async function endOf(
  set: SoakedSet,
  traffic: Traffic,
  onEnd: OnEnd,
): Promise<Omit<Ended, "idle" | "liveHeaps">> {
  const [row] = await set.queries.rows<{ settled: number }>(
    "select count(*)::int as settled from ledger_transfer where cause = 'settled'",
  );
  await set.stop();
  const script = "dist/gateway/cli/verify-ledger.js";
  const verified = await runProcess({ script, args: ["--full"], settings: set.settings, onEnd });
  const isExact = verified.code === 0 && verified.stdout.includes(" 0 open holds");
  const failures = [...traffic.failures.values()].reduce((sum, count) => sum + count, 0);
  for (const [message, count] of traffic.failures) console.error(`${set.name}: ${count} times ${message}`);
  return {
    ...{ maxWalBytes: set.maxWalBytes, failures, refused: traffic.refused() },
    settled: row?.settled ?? 0,
    mustBeSettled: traffic.record.billed,
    maySettle: traffic.record.billed + traffic.record.left + traffic.refused() + failures,
    ledgerFault: isExact ? undefined : `${verified.stdout}${verified.stderr}`.replaceAll(/\s+/g, " "),
  };
}

function describe(sample: Sample, { perSecond, refused, failures }: Traffic): string {
  const { minute, actions, share, processes, walBytes, dataBytes, unpublished } = sample;
  const resident = Object.values(processes).reduce((sum, { residentBytes }) => sum + residentBytes, 0);
  const mib = (bytes: number) => `${Math.round(bytes / 1_048_576)} MiB`;
  return [
    `minute ${minute.toFixed(1)}: ${actions} actions, ${perSecond.toFixed(0)}/s, ${(share * 100).toFixed(0)} %`,
    `memory ${mib(resident)}, data ${mib(dataBytes)}, WAL ${mib(walBytes)}`,
    `${unpublished} unpublished, ${refused()} refused, ${failures.size} kinds of failures`,
  ].join("; ");
}

function unknown(name: string): never {
  throw new Error(`--set ${name}: it is pglite or split`);
}
