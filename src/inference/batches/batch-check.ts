import { TurnMeter } from "../../kernel/async/turn-queue.ts";
import { type InputCheck, type InputLine, LineSplitter } from "./batch-input.ts";
import type { LinePlace } from "./batch-lines.store.ts";

/** Lines that are stored in one statement. */
const STORED_AT_ONCE = 1_000;
/** A turn of the event loop has time to search 1 MiB, or to check a quarter of that. */
const CHECK_COST = 4;
const LINE_COST = 2_048;

/**
 * Checks an input as it is read, in short turns of the event loop, and stores the places of its lines. It stops when
 * the check is over or `signal` aborts.
 */
export async function checkInput(
  parts: AsyncIterableIterator<Buffer>,
  check: InputCheck,
  given: {
    readonly maxLineBytes: number;
    readonly signal: AbortSignal;
    store(lines: readonly LinePlace[]): Promise<void>;
  },
): Promise<void> {
  const { signal, store } = given;
  const meter = new TurnMeter();
  const splitter = new LineSplitter(given);
  let waiting: LinePlace[] = [];
  const add = async (line: InputLine) => {
    const { n, startsAt, sizeBytes } = line;
    if (check.add(line)) waiting.push({ n, startsAt, sizeBytes });
    await meter.spend(CHECK_COST * (line.bytes?.length ?? 0) + LINE_COST);
    if (waiting.length < STORED_AT_ONCE) return;
    await store(waiting);
    waiting = [];
  };
  try {
    for (let next = await parts.next(); !next.done; next = await parts.next()) {
      for (const line of splitter.push(next.value)) {
        await add(line);
        if (check.isOver || signal.aborted) return;
      }
    }
    const last = splitter.end();
    if (last) await add(last);
    if (waiting.length > 0) await store(waiting);
  } finally {
    await parts.return?.();
  }
}
