import { type ExecutionResult, parse } from "graphql";
import { expect, test } from "vitest";
import { SharedStreams } from "../../../gateway/subscriptions/shared-streams.ts";
import type { Results } from "../../../gateway/subscriptions/streamed-operation.ts";
import { PushIterator } from "../../../src/kernel/async/push-iterator.ts";
import { until } from "../../support/until.ts";

const document = parse("subscription { a }");
const result = (n: number): ExecutionResult => ({ data: { a: n } });

/** A source that a test feeds, with the counts of how often it was opened and closed. */
function newSource() {
  const seen = { opened: 0, ended: 0 };
  let source = new PushIterator<ExecutionResult>();
  const open = async () => {
    seen.opened += 1;
    source = new PushIterator<ExecutionResult>(() => {
      seen.ended += 1;
    }, 10_000);
    return source;
  };
  return {
    seen,
    open,
    push: (n: number) => source.push(result(n)),
    fail: (reason: unknown) => source.fail(reason),
  };
}

async function join(streams: SharedStreams, key: string, open: () => Promise<Results>): Promise<Results> {
  const opened = await streams.open(document, key, open);
  if (!(Symbol.asyncIterator in opened)) throw new Error("refused");
  return opened;
}

test("readers of one key share a source, which is closed with the last of them and opened again for the next", async () => {
  const streams = new SharedStreams();
  const { seen, open, push } = newSource();
  const [one, two] = await Promise.all([join(streams, "k", open), join(streams, "k", open)]);
  const other = await join(streams, "other", open);
  expect(seen).toEqual({ opened: 2, ended: 0 });
  await other.return?.();
  await one.return?.();
  expect(seen.ended).toBe(1);
  await two.return?.();
  expect(seen.ended).toBe(2);
  const next = await join(streams, "k", open);
  push(1);
  expect(await next.next()).toEqual({ done: false, value: result(1) });
  expect(seen.opened).toBe(3);
});

test("one that reads nothing is ended with `unavailable` at 1,000 results, and does not delay the others", async () => {
  const streams = new SharedStreams();
  const { open, push, seen } = newSource();
  const [slow, quick] = [await join(streams, "k", open), await join(streams, "k", open)];
  const got: ExecutionResult[] = [];
  const reading = (async () => {
    for await (const value of quick) if (got.push(value) === 3_000) break;
  })();
  for (let n = 0; n < 3_000; n++) {
    push(n);
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await reading;
  expect(got).toHaveLength(3_000);
  for (let n = 0; n < 1_000; n++) expect((await slow.next()).value.data).toEqual(result(n).data);
  await expect(slow.next()).rejects.toMatchObject({ code: "unavailable" });
  expect((await slow.next()).done).toBe(true);
  expect(seen).toEqual({ opened: 1, ended: 1 });
});

test("one that reads nothing buffers at most a mebibyte of large results", async () => {
  const streams = new SharedStreams();
  const large: ExecutionResult = { data: { a: "x".repeat(300_000) } };
  let isEnded = false;
  const source = new PushIterator<ExecutionResult>(() => {
    isEnded = true;
  });
  const slow = await join(streams, "k", async () => source);
  for (let n = 0; n < 10; n++) source.push(large);
  await until(() => isEnded);
  for (let n = 0; n < 3; n++) expect((await slow.next()).value.data).toEqual(large.data);
  await expect(slow.next()).rejects.toMatchObject({ code: "unavailable" });
});

test("a lost source is lost for all its readers, and not for later ones", async () => {
  const streams = new SharedStreams();
  const { open, fail, push } = newSource();
  const [one, two] = [await join(streams, "k", open), await join(streams, "k", open)];
  fail(new Error("lost"));
  await expect(one.next()).rejects.toThrow("lost");
  await expect(two.next()).rejects.toThrow("lost");
  const next = await join(streams, "k", open);
  push(7);
  expect((await next.next()).value).toEqual(result(7));
});

test("a source that is lost while a reader joins is lost for this reader, too", async () => {
  const streams = new SharedStreams();
  const { open, fail, push } = newSource();
  const one = await join(streams, "k", open);
  const failed = expect(one.next()).rejects.toThrow("lost");
  // The readers before it are notified in the turn in which it joins.
  fail(new Error("lost"));
  const two = await join(streams, "k", open);
  push(1);
  const next = await two.next().catch((error: Error) => error.message);
  expect(["lost", { done: false, value: result(1) }]).toContainEqual(next);
  await failed;
});

test("a refusal is delivered to everyone who waited for it, and is not cached", async () => {
  const streams = new SharedStreams();
  let asked = 0;
  const refuse = async () => {
    asked += 1;
    return { errors: [] };
  };
  const both = await Promise.all([streams.open(document, "k", refuse), streams.open(document, "k", refuse)]);
  expect(both).toEqual([{ errors: [] }, { errors: [] }]);
  await streams.open(document, "k", refuse);
  expect(asked).toBe(2);
});

test("a reader that leaves while another joins does not close the source", async () => {
  const streams = new SharedStreams();
  const { open, push, seen } = newSource();
  const one = await join(streams, "k", open);
  const joining = join(streams, "k", open);
  await one.return?.();
  const two = await joining;
  push(1);
  expect((await two.next()).value).toEqual(result(1));
  await two.return?.();
  await until(() => seen.ended === seen.opened);
});
