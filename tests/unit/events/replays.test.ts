import { describe, expect, test } from "vitest";
import { EventCursors } from "../../../src/events/event-cursors.ts";
import { Readers } from "../../../src/events/readers.ts";
import { ReplayedStream } from "../../../src/events/replayed-stream.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { PushIterator } from "../../../src/kernel/async/push-iterator.ts";
import { encodeCursor } from "../../../src/kernel/page.ts";
import { publishedFile, take } from "../../support/events.ts";

const positionsOf = (events: readonly DomainEvent[]) => events.map(({ position }) => position);

describe("a replayed stream", () => {
  test("without anything to replay has every live event, and ends once", async () => {
    let ends = 0;
    const live = new PushIterator<DomainEvent>();
    const stream = ReplayedStream.live(live, () => void ends++);
    for (const position of [0, 1, 2]) live.push(publishedFile(position));
    expect(positionsOf(await take(stream, 3))).toEqual([0n, 1n, 2n]);
    live.end();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(ends).toBe(1);
  });

  test("that several callers read at once gives each another event, in order, and reads each page once", async () => {
    const pages: bigint[] = [];
    const stream = new ReplayedStream(
      {
        page: async (after) => {
          pages.push(after);
          await new Promise((done) => setImmediate(done));
          const events = [1, 2].map((n) => publishedFile(after + BigInt(n)));
          return { events, upTo: after + 2n, full: true };
        },
        live: () => Promise.reject(new Error("every page was full")),
      },
      0n,
    );
    const reads = await Promise.all([1, 2, 3, 4].map(() => stream.next()));
    expect(reads.map(({ value }) => value?.position)).toEqual([1n, 2n, 3n, 4n]);
    expect(pages).toEqual([0n, 2n]);
    await stream.return();
  });

  test("ends when its live source ends, and fails when that fails", async () => {
    const live = new PushIterator<DomainEvent>();
    const nothing = async (after: bigint) => ({ events: [], upTo: after, full: false });
    const open = () => new ReplayedStream({ page: nothing, live: async () => live }, 0n);
    const failing = open();
    const next = failing.next();
    live.fail(new Error("closed"));
    await expect(next).rejects.toThrow("closed");
    expect(await open().next()).toEqual({ done: true, value: undefined });
  });
});

describe("the readers of a process", () => {
  test("receive the events of their topic and subject, and one that left receives none", async () => {
    const readers = new Readers();
    const [one, other, all] = [
      readers.attach({ topic: "file.submitted", subject: "0xaa" }),
      readers.attach({ topic: "file.submitted", subject: "0xaa" }),
      readers.attach({ topic: "file.submitted" }),
    ];
    expect(readers.size).toBe(3);
    await one.return();
    await readers.dispatch(publishedFile(1, "0xaa"));
    await readers.dispatch(publishedFile(2, "0xbb"));
    expect(positionsOf(await take(other, 1))).toEqual([1n]);
    expect(positionsOf(await take(all, 2))).toEqual([1n, 2n]);
    expect(readers.size).toBe(2);
    const again = readers.attach({ topic: "file.submitted", subject: "0xaa" });
    await other.return();
    await readers.dispatch(publishedFile(3, "0xaa"));
    expect(positionsOf(await take(again, 1))).toEqual([3n]);
  });

  test("of all subjects are not the readers of a subject named 'undefined'", async () => {
    const readers = new Readers();
    const named = readers.attach({ topic: "file.submitted", subject: "undefined" });
    await readers.dispatch(publishedFile(1, "0xaa"));
    await readers.dispatch(publishedFile(2, "undefined"));
    expect(positionsOf(await take(named, 1))).toEqual([2n]);
  });
});

describe("a plain cursor of the previous version", () => {
  const cursors = new EventCursors("a secret of thirty-two characters", new Date(Date.now() + 3_600_000));
  const plain = (list: string, ...parts: readonly string[]) => encodeCursor(list, ...parts);

  test.each([0n, 7n, 10n, 2n ** 63n - 1n])("has any position: %s", (position) => {
    expect(cursors.open(plain("event", String(position)))).toBe(position);
  });

  test.each([
    ["another kind", plain("usage", "7")],
    ["no number", plain("event", "x")],
    ["nothing", plain("event", "")],
    ["a sign", plain("event", "-7")],
    ["a leading zero", plain("event", "07")],
    ["letters after a digit", plain("event", "7x")],
    ["letters before a digit", plain("event", "x7")],
    ["a position too large for the database", plain("event", String(2n ** 63n))],
    ["too many digits", plain("event", "1".repeat(20))],
    ["more parts", plain("event", "7", "8")],
  ])("is refused with %s", (_what, cursor) => {
    expect(() => cursors.open(cursor)).toThrow(expect.objectContaining({ code: "invalid_cursor" }));
  });

  test("is accepted beside the encrypted ones", () => {
    expect(cursors.open(cursors.seal(9n))).toBe(9n);
  });
});

test("an encrypted cursor of a position too large for the database is refused", () => {
  const cursors = new EventCursors("a secret of thirty-two characters");
  // Only this deployment can encrypt one: unsigned, a negative number is such a position.
  expect(() => cursors.open(cursors.seal(-5n))).toThrow(expect.objectContaining({ code: "invalid_cursor" }));
});

test("a cursor that an earlier release gave to a client still opens", () => {
  const cursors = new EventCursors("a secret of thirty-two characters");
  expect(cursors.open("pVynO8yFJhrerTh6bXz8UQ")).toBe(7n);
});
