import { setTimeout as sleep } from "node:timers/promises";

/** Reads a URL every 10 ms while `run` goes on. Resolves with the longest time that one answer took, milliseconds. */
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
 * The most processor time that this thread took in one turn of its event loop while `run` went on, milliseconds. Other
 * processes of a busy machine do not count.
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
  return Math.max(longestMs, threadMs() - lastMs);
}

/** The processor time of this thread so far, milliseconds. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
