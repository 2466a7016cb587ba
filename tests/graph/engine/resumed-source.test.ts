import { expect, test } from "vitest";
import { ResumedSource } from "../../../gateway/federation/engine/resumed-source.ts";
import type { SubgraphResult } from "../../../gateway/federation/engine/subgraph-executor.ts";
import { PushIterator } from "../../../src/kernel/async/push-iterator.ts";
import { AppError } from "../../../src/kernel/errors.ts";

const event = (cursor: string): SubgraphResult => ({ data: { cursor } });
const down: SubgraphResult = {
  data: null,
  errors: [{ message: "down", extensions: { code: "unavailable" } }],
};

/** A source that is lost after these events; `reopen` makes its successors. */
function resumed(
  events: readonly SubgraphResult[],
  reopen: (after: string, nth: number) => AsyncIterator<SubgraphResult> | SubgraphResult,
  { cursor, patienceMs = 5_000 }: { cursor?: string; patienceMs?: number } = {},
) {
  const asked: string[] = [];
  const lost: unknown[] = [];
  const source = new ResumedSource(losing(events), cursor, {
    open(after) {
      asked.push(after);
      return reopen(after, asked.length);
    },
    cursorOf: ({ data }) => data?.cursor as string | undefined,
    onLost: (reason) => lost.push(reason),
    patienceMs,
  });
  return { source, asked, lost };
}

function losing(
  events: readonly SubgraphResult[],
  reason: unknown = new Error("lost"),
): PushIterator<SubgraphResult> {
  const source = new PushIterator<SubgraphResult>();
  for (const one of events) source.push(one);
  source.fail(reason);
  return source;
}

function ending(...events: readonly SubgraphResult[]): PushIterator<SubgraphResult> {
  const source = new PushIterator<SubgraphResult>();
  for (const one of events) source.push(one);
  source.end();
  return source;
}

test("it resumes after the last event, however often it is lost, and ends when its source does", async () => {
  const { source, asked, lost } = resumed([event("1"), event("2")], (after, nth) =>
    nth < 3 ? losing(nth === 2 ? [event("3")] : []) : ending(event(`${Number(after) + 1}`)),
  );
  const got: unknown[] = [];
  for (let next = await source.next(); !next.done; next = await source.next())
    got.push(next.value.data?.cursor);
  expect(got).toEqual(["1", "2", "3", "4"]);
  expect(asked).toEqual(["2", "2", "3"]);
  expect(lost).toHaveLength(3);
});

test("a source lost before its first event resumes at its start cursor, and without one the loss is reported", async () => {
  const known = resumed([], () => ending(event("6")), { cursor: "5" });
  expect((await known.source.next()).value).toEqual(event("6"));
  expect(known.asked).toEqual(["5"]);
  const unknown = resumed([], () => ending());
  await expect(unknown.source.next()).rejects.toThrow("lost");
  expect(unknown.asked).toEqual([]);
});

test("a subgraph that is not ready yet is retried; one that refuses is believed", async () => {
  const unready = resumed([event("1")], (_, nth) => (nth < 3 ? down : ending(event("2"))));
  expect((await unready.source.next()).value).toEqual(event("1"));
  expect((await unready.source.next()).value).toEqual(event("2"));
  expect(unready.asked).toHaveLength(3);
  const expired = { data: null, errors: [{ message: "old", extensions: { code: "cursor_expired" } }] };
  const refused = resumed([event("1")], () => expired);
  await refused.source.next();
  expect((await refused.source.next()).value).toEqual(expired);
  expect((await refused.source.next()).done).toBe(true);
});

test("the loss is reported when the retry time is over", async () => {
  const { source, asked } = resumed([event("1")], () => losing([], new Error("still down")), {
    patienceMs: 300,
  });
  await source.next();
  const since = performance.now();
  await expect(source.next()).rejects.toThrow("still down");
  expect(performance.now() - since).toBeGreaterThan(250);
  // Pauses grow: the number of attempts is limited.
  expect(asked.length).toBeLessThan(12);
});

test("a reader that is too slow is not retried", async () => {
  const slow = new ResumedSource(
    losing([event("1")], new AppError("unavailable", "fell behind")),
    undefined,
    {
      open: () => ending(event("never")),
      cursorOf: ({ data }) => data?.cursor as string | undefined,
      onLost: () => {},
      patienceMs: 5_000,
    },
  );
  await slow.next();
  await expect(slow.next()).rejects.toThrow("fell behind");
});

test("return() ends it at once, also while it waits to resume, and closes what is opened after", async () => {
  let released = 0;
  const { source } = resumed([event("1")], () => new PushIterator<SubgraphResult>(() => released++));
  await source.next();
  const waiting = source.next();
  await source.return();
  expect((await waiting).done).toBe(true);
  const late = resumed([event("1")], () => new PushIterator<SubgraphResult>(() => released++));
  await late.source.next();
  const open = late.source.next();
  await new Promise((resolve) => setTimeout(resolve, 120));
  await late.source.return();
  expect((await open).done).toBe(true);
  expect(released).toBe(1);
});
