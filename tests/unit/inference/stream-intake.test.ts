import { expect, test } from "vitest";
import { ReadingTurns, type TurnReader } from "../../../src/inference/dispatch/reading-turns.ts";
import { StreamIntake } from "../../../src/inference/dispatch/stream-intake.ts";
import { threadMs } from "../../support/attack/event-loop.ts";
import { until } from "../../support/until.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const WORD = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "word " } }] })}\n\n`;
const EMPTY = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "" } }] })}\n\n`;

/** What an intake makes of a stream that arrives in chunks of this size, up to its failure. */
async function taken(text: string, chunkBytes: number) {
  const bytes = Buffer.from(text);
  let [content, isEnded, isPaused] = [0, false, false];
  let failure: unknown;
  const intake = new StreamIntake(new ReadingTurns(), {
    event: (event) => {
      const isContent = event.includes('"content":"word') || event.length > 100_000;
      if (isContent) content += 1;
      return isContent;
    },
    failed: (error) => {
      failure ??= error;
      intake.stop();
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
  });
  for (let at = 0; at < bytes.length && failure === undefined; at += chunkBytes) {
    while (isPaused) await turn();
    intake.take(bytes.subarray(at, at + chunkBytes));
  }
  intake.end(() => {
    isEnded = true;
  });
  await until(async () => isEnded || failure !== undefined);
  return { content, failure };
}

test.each([
  ["300 events, each byte by itself", WORD.repeat(300), 1, 300],
  ["5,000 events in chunks of 7 bytes", WORD.repeat(5_000), 7, 5_000],
  ["an event of 900 KB in chunks of 16 bytes", `data: "${"x".repeat(900_000)}"\n\n`, 16, 1],
  ["as many empty events as events with content", (WORD + EMPTY).repeat(500), 1, 500],
])("a stream of content is read whole, however it is cut: %s", async (_what, text, size, events) => {
  expect(await taken(text, size)).toEqual({ content: events, failure: undefined });
});

test.each([
  ["comments, byte by byte", ":\n".repeat(60_000), 1],
  ["comments between few events, byte by byte", (WORD + ":\n".repeat(5_000)).repeat(20), 1],
  ["empty events, byte by byte", EMPTY.repeat(1_500), 1],
  ["empty events in large chunks", EMPTY.repeat(60_000), 65_536],
])("a flood is refused: %s", async (_what, text, size) => {
  const { failure } = await taken(text, size);
  expect(String(failure)).toContain("too little content");
});

test("many streams share a turn, and each of them is read in time", async () => {
  const turns = new ReadingTurns();
  const STREAMS = 200;
  const reads = Array.from({ length: STREAMS }, () => 0);
  const readers = reads.map(
    (_, at): TurnReader => ({
      read(untilMs) {
        do for (const end = threadMs() + 0.1; threadMs() < end; );
        while (performance.now() < untilMs);
        reads[at] = (reads[at] ?? 0) + 1;
        return true;
      },
    }),
  );
  for (const reader of readers) turns.run(reader);
  await turn();
  const workMs: number[] = [];
  while (Math.min(...reads) < 2) {
    const startedMs = threadMs();
    await turn();
    workMs.push(threadMs() - startedMs);
  }
  for (const reader of readers) turns.remove(reader);
  // A turn that the machine interrupted counts the same time of this thread.
  expect(workMs.toSorted((a, b) => a - b)[Math.floor(workMs.length / 2)]).toBeLessThan(20);
  // The first one reads at once, before the others have begun to wait.
  expect(Math.max(...reads) - Math.min(...reads)).toBeLessThanOrEqual(2);
  const before = [...reads];
  await turn();
  await turn();
  expect(reads).toEqual(before);
});
