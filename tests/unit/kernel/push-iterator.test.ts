import { expect, test } from "vitest";
import { PushIterator } from "../../../src/kernel/async/push-iterator.ts";

const DONE = { done: true, value: undefined };

test("a reader that falls too far behind is refused as unavailable", async () => {
  const iterator = new PushIterator<number>(() => {}, 1);
  iterator.push(1);
  iterator.push(2);
  await iterator.next();
  await expect(iterator.next()).rejects.toMatchObject({ code: "unavailable" });
});

test("a failure reaches a waiting reader at once, or the next one after the buffered values, once", async () => {
  const waiting = new PushIterator<number>();
  const next = waiting.next();
  waiting.fail(new Error("broken"));
  await expect(next).rejects.toThrow("broken");
  expect(await waiting.next()).toEqual(DONE);
  const buffered = new PushIterator<number>();
  buffered.push(1);
  buffered.fail(new Error("broken"));
  expect(await buffered.next()).toEqual({ done: false, value: 1 });
  await expect(buffered.next()).rejects.toThrow("broken");
  expect(await buffered.next()).toEqual(DONE);
});

test("a failure after the end, and after a first failure, changes nothing", async () => {
  const ended = new PushIterator<number>();
  ended.end();
  ended.fail(new Error("late"));
  expect(await ended.next()).toEqual(DONE);
  const failed = new PushIterator<number>();
  failed.fail(new Error("first"));
  failed.fail(new Error("second"));
  await expect(failed.next()).rejects.toThrow("first");
  expect(await failed.next()).toEqual(DONE);
});

test("a reader that leaves hears nothing of values and failures that it has not read", async () => {
  const iterator = new PushIterator<number>();
  iterator.push(1);
  iterator.fail(new Error("broken"));
  expect(await iterator.return()).toEqual(DONE);
  expect(await iterator.next()).toEqual(DONE);
});
