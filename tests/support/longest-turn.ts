/** How long other work may wait for a turn of the event loop, milliseconds. */
export const MAX_TURN_MS = 50;

/** Runs work, and measures the processor time of its longest turn of the event loop, whatever else the machine does. */
export async function longestTurn<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly turnMs: number }> {
  let [turnMs, isOver] = [0, false];
  let before = cpuMs();
  const tick = () => {
    turnMs = Math.max(turnMs, cpuMs() - before);
    before = cpuMs();
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  const result = await work();
  isOver = true;
  tick();
  return { result, turnMs };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
