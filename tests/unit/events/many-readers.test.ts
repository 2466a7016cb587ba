// @module-tag medium
import { expect, test } from "vitest";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import type { EventStream } from "../../../src/events/bus.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { publishedFile } from "../../support/events.ts";

const MAX_TURN_MS = 50;
const READERS = 5_000;
/** What a subscriber's event costs: it is resolved, written as JSON, and sent. */
const WORK_MS = 0.05;

function work(): void {
  const endMs = performance.now() + WORK_MS;
  while (performance.now() < endMs);
}

/** The positions that a reader receives, until there are `count`. */
async function read(stream: EventStream, count: number): Promise<bigint[]> {
  const positions: bigint[] = [];
  while (positions.length < count) {
    const { value, done } = await stream.next();
    if (done) break;
    work();
    positions.push(value.position);
  }
  return positions;
}

test("one event for thousands of readers is delivered to all of them in short turns", async () => {
  const bus = new MemoryBus();
  const topic = "file.submitted";
  const streams = await Promise.all(Array.from({ length: READERS }, () => bus.subscribe({ topic })));
  let position = 0;
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    position += 1;
    const reading = streams.map((stream) => read(stream, 1));
    await bus.publish([publishedFile(position)]);
    expect(new Set((await Promise.all(reading)).flat())).toEqual(new Set([BigInt(position)]));
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  await bus.close();
});

test("each of thousands of readers receives the events of two publishers in order, and one that resumes misses none", async () => {
  const bus = new MemoryBus();
  const topic = "file.submitted";
  const streams = await Promise.all(Array.from({ length: READERS }, () => bus.subscribe({ topic })));
  const reading = streams.map((stream) => read(stream, 4));
  const publishing = [
    [1, 2],
    [3, 4],
  ].map((positions) => bus.publish(positions.map((n) => publishedFile(n))));
  // While the first event is being delivered.
  const resumed = await bus.subscribe({ topic }, 0n);
  const all = [1n, 2n, 3n, 4n];
  expect(await read(resumed, 4)).toEqual(all);
  await Promise.all(publishing);
  for (const positions of await Promise.all(reading)) expect(positions).toEqual(all);
  await bus.close();
});
