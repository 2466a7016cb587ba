import { setTimeout as sleep } from "node:timers/promises";

/**
 * Reads a URL every 10 ms while `run` runs. Resolves with the longest duration of one answer, milliseconds.
 */
export async function longestAnswerMs(url: string, run: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  const reading = (async () => {
    let longestMs = 0;
    while (!isOver) {
      const startedMs = performance.now();
      await (await fetch(url)).arrayBuffer();
      longestMs = Math.max(longestMs, performance.now() - startedMs);
      await sleep(10);
    }
    return longestMs;
  })();
  try {
    await run();
  } finally {
    isOver = true;
  }
  return reading;
}

/**
 * The duration of parsing `CALIBRATION` on the machine that limits are written for: two cores, otherwise
 * idle. Milliseconds.
 */
const REFERENCE_MS = 8;
const SAMPLES = 5;
const CALIBRATION = JSON.stringify(
  Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `name ${n}`, at: [n, n + 1] })),
);

/**
 * How many times slower this thread computes now than on the machine that limits are written for; at least 1.
 */
export function slowness(): number {
  const samples = Array.from({ length: SAMPLES }, () => {
    const startedMs = threadMs();
    JSON.parse(CALIBRATION);
    return threadMs() - startedMs;
  }).toSorted((a, b) => a - b);
  return Math.max(1, (samples[Math.floor(SAMPLES / 2)] ?? 0) / REFERENCE_MS);
}

/**
 * Shorter turns are within every limit, however fast the machine is, so the calibration of 50 ms is skipped.
 */
const MIN_CALIBRATED_MS = 40;

/**
 * The maximum processor time of this thread in one turn of its event loop while `run` runs, in milliseconds
 * of the machine that limits are written for. Other processes of a busy machine do not count, and the time is
 * scaled by the speed of the processor.
 */
export async function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let lastMs = threadMs();
  let isOver = false;
  const tick = () => {
    const nowMs = threadMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setTimeout(tick, 1);
  };
  setTimeout(tick, 1);
  try {
    await run();
  } finally {
    isOver = true;
  }
  return calibrated(Math.max(longestMs, threadMs() - lastMs));
}

/** How often a turn that exceeds its limit is measured again. */
const MEASUREMENTS = 3;

/**
 * `longestTurnMs` of `run`, as its minimum over up to three runs: work that blocks does so in each of them, a busy
 * machine, whose memory is slower too, only now and then. Runs again only while the limit is exceeded. `run` receives
 * what `prepare` resolves with, which is not measured.
 */
export async function repeatedTurnMs<T = void>(
  limitMs: number,
  run: (prepared: T) => Promise<unknown>,
  prepare?: () => Promise<T>,
): Promise<number> {
  let turnMs = Number.POSITIVE_INFINITY;
  for (let n = 0; n < MEASUREMENTS && turnMs >= limitMs; n++) {
    const prepared = (await prepare?.()) as T;
    turnMs = Math.min(turnMs, await longestTurnMs(() => run(prepared)));
  }
  return turnMs;
}

/** The result of synchronous work, and the processor time it took, in milliseconds as in `longestTurnMs`. */
export function timeTurn<T>(work: () => T): { readonly result: T; readonly ms: number } {
  const startedMs = threadMs();
  const result = work();
  return { result, ms: calibrated(threadMs() - startedMs) };
}

function calibrated(ms: number): number {
  return ms < MIN_CALIBRATED_MS ? ms : ms / slowness();
}

/** The step of a loop clock, milliseconds. */
const LOOP_STEP_MS = 10;

/**
 * A clock that stands still with the event loop: a pause of the machine or a long turn counts as one step.
 * Work in turns takes the same time by it on a slow machine as on a fast one; timers take their time.
 */
export function startLoopClock(): { readonly nowMs: () => number; readonly stop: () => void } {
  let ms = 0;
  const timer = setInterval(() => {
    ms += LOOP_STEP_MS;
  }, LOOP_STEP_MS);
  return { nowMs: () => ms, stop: () => clearInterval(timer) };
}

/** The processor time of this thread so far, milliseconds. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
