import { describe, expect, test } from "vitest";
import { type SnapshotOptions, SnapshotStream } from "../../../src/events/snapshot-stream.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { PushIterator } from "../../../src/kernel/async/push-iterator.ts";

type Step = DomainEvent<"file.progressed">;

/** Step number `sequence` of a file. */
const step = (file: string, sequence: number): Step =>
  ({ topic: "file.progressed", subject: file, data: { root: file, sequence } }) as unknown as Step;
const nameOf = ({ subject, data: { sequence } }: Step) => `${subject}${sequence}`;

/** A stream over steps that the test emits; how often it ended is in `ends`. */
function open(options: Partial<SnapshotOptions<"file.progressed">> = {}) {
  const seen = { ends: 0, sourceEnds: 0 };
  const source = new PushIterator<Step>(() => void seen.sourceEnds++);
  const stream = new SnapshotStream<"file.progressed">(source, {
    present: [],
    keyOf: ({ subject }) => subject,
    onEnd: () => void seen.ends++,
    ...options,
  });
  return { source, stream, seen };
}

/** The names of the next steps, up to the end. */
async function read(stream: AsyncIterableIterator<Step>, count: number): Promise<string[]> {
  const names: string[] = [];
  while (names.length < count) {
    const { done, value } = await stream.next();
    if (done) return [...names, "end"];
    names.push(nameOf(value));
  }
  return names;
}

describe("a stream of steps", () => {
  test("begins with the current states, then has each later step once and in order", async () => {
    const { source, stream } = open({ present: [step("a", 3), step("b", 1)] });
    const steps = [
      step("a", 2),
      step("a", 3),
      step("a", 4),
      step("b", 1),
      step("b", 2),
      step("a", 4),
      step("c", 1),
    ];
    for (const one of steps) source.push(one);
    expect(await read(stream, 5)).toEqual(["a3", "b1", "a4", "b2", "c1"]);
  });

  test("has no step that goes back, whatever came between", async () => {
    const { source, stream } = open();
    for (const one of [step("a", 1), step("a", 5), step("a", 4), step("a", 6)]) source.push(one);
    expect(await read(stream, 3)).toEqual(["a1", "a5", "a6"]);
  });

  test("leaves out what belongs to nothing that the reader wants", async () => {
    const { source, stream } = open({ keyOf: ({ subject }) => (subject === "a" ? "key" : undefined) });
    for (const one of [step("b", 1), step("a", 1), step("b", 2), step("a", 2)]) source.push(one);
    source.end();
    expect(await read(stream, 3)).toEqual(["a1", "a2", "end"]);
  });

  test("ends after the last step, and ends its source with it", async () => {
    const { source, stream, seen } = open({ isLast: ({ data }) => data.sequence === 2 });
    for (const one of [step("a", 1), step("a", 2), step("a", 3)]) source.push(one);
    expect(await read(stream, 3)).toEqual(["a1", "a2", "end"]);
    expect(seen).toEqual({ ends: 1, sourceEnds: 1 });
  });

  test("ends after a current state that is already the last", async () => {
    const { stream, seen } = open({ present: [step("a", 2), step("b", 1)], isLast: () => true });
    expect(await read(stream, 2)).toEqual(["a2", "end"]);
    expect(seen).toEqual({ ends: 1, sourceEnds: 1 });
  });

  test("without a last step continues until its source ends, and ends once", async () => {
    const { source, stream, seen } = open();
    source.push(step("a", 1));
    source.end();
    expect(await read(stream, 2)).toEqual(["a1", "end"]);
    expect(await read(stream, 1)).toEqual(["end"]);
    expect(seen.ends).toBe(1);
  });

  test("ends with its source as soon as its reader leaves", async () => {
    const { source, stream, seen } = open({ present: [step("a", 1)] });
    await stream.return();
    source.push(step("a", 2));
    expect(await read(stream, 1)).toEqual(["end"]);
    expect(seen).toEqual({ ends: 1, sourceEnds: 1 });
  });

  test("does not change the list of current states that it was given", async () => {
    const present = [step("a", 1)];
    const { stream } = open({ present });
    await read(stream, 1);
    expect(present).toHaveLength(1);
  });

  test("needs no callback for its end", async () => {
    const source = new PushIterator<Step>();
    const stream = new SnapshotStream<"file.progressed">(source, { present: [], keyOf: () => "a" });
    await stream.return();
    expect(await source.next()).toMatchObject({ done: true });
  });
});
