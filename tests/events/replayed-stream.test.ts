import { expect, test } from "vitest";
import { ReplayedStream } from "../../src/events/replayed-stream.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import { PushIterator } from "../../src/kernel/async/push-iterator.ts";
import { publishedFile, take } from "../support/events.ts";

test("an event published between the last page and the live stream is neither lost nor duplicated", async () => {
  const past = [publishedFile(1), publishedFile(2)];
  const live = new PushIterator<DomainEvent>();
  const stream = new ReplayedStream(
    {
      page: async (after) => {
        const events = past.filter(({ position }) => position > after);
        return { events, upTo: events.at(-1)?.position ?? after, full: false };
      },
      live: async () => {
        past.push(publishedFile(3), publishedFile(4));
        for (const position of [4, 5]) live.push(publishedFile(position));
        return live;
      },
    },
    0n,
  );
  expect((await take(stream, 5)).map(({ position }) => position)).toEqual([1n, 2n, 3n, 4n, 5n]);
  await stream.return();
  expect(await live.next()).toEqual({ done: true, value: undefined });
});

test("the outbox is not read again while the live stream still holds everything since the cursor", async () => {
  const asked: bigint[] = [];
  const live = new PushIterator<DomainEvent>();
  const stream = new ReplayedStream(
    {
      page: async (after) => {
        asked.push(after);
        return { events: [publishedFile(Number(after) + 1)], upTo: after + 1n, full: after < 4n };
      },
      live: async (after) => {
        for (let position = Number(after) + 1; position < 10; position++) live.push(publishedFile(position));
        return live;
      },
      coversSince: () => true,
    },
    3n,
    { first: { events: [publishedFile(1), publishedFile(3)], upTo: 3n, full: true } },
  );
  expect((await take(stream, 8)).map(({ position }) => position)).toEqual([1n, 3n, 4n, 5n, 6n, 7n, 8n, 9n]);
  expect(asked).toEqual([3n, 4n]);
  await stream.return();
});

test("return() while the live stream is being opened closes it", async () => {
  const live = new PushIterator<DomainEvent>();
  const opening = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<PushIterator<DomainEvent>>();
  let ends = 0;
  const source = {
    page: async (after: bigint) => ({ events: [], upTo: after, full: false }),
    live: () => {
      opening.resolve();
      return opened.promise;
    },
  };
  const stream = new ReplayedStream(source, 0n, { onEnd: () => void ends++ });
  const next = stream.next();
  await opening.promise;
  await stream.return();
  expect(await next).toEqual({ done: true, value: undefined });
  opened.resolve(live);
  expect(await live.next()).toEqual({ done: true, value: undefined });
  expect(ends).toBe(1);
});

test("a page that cannot be read ends the stream with its error, once", async () => {
  let ends = 0;
  const source = {
    page: () => Promise.reject(new Error("out of reach")),
    live: async () => new PushIterator<DomainEvent>(),
  };
  const stream = new ReplayedStream(source, 0n, { onEnd: () => void ends++ });
  await expect(stream.next()).rejects.toThrow("out of reach");
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(ends).toBe(1);
});
