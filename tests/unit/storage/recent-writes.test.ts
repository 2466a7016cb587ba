import { expect, test } from "vitest";
import type { Queries } from "../../../src/db/database.ts";
import { RecentWrites } from "../../../src/storage/kv/recent-writes.ts";

let nowMs = 0;
const clock = { now: () => new Date(), monotonicMs: () => nowMs };
/** The undecided transactions after each query, the last one for good, and 300 ms after it. */
let answers: (readonly string[])[] = [];
let asked: string[][] = [];
/** Called with each query. */
let onQuery: () => unknown = () => {};
const queries: Queries = {
  async rows<Row>(_sql: string, parameters: readonly unknown[] = []) {
    asked.push(JSON.parse(String(parameters[1])));
    nowMs += 300;
    onQuery();
    const pending = answers.length > 1 ? answers.shift() : answers[0];
    return (pending ?? []).map((tx_seq) => ({ tx_seq })) as Row[];
  },
};

function newWrites(...pending: (readonly string[])[]): RecentWrites {
  [nowMs, answers, asked, onQuery] = [0, pending, [], () => {}];
  return new RecentWrites({ queries, chainId: 1, clock });
}

test("without recent writes, a read asks nothing", async () => {
  await newWrites().settled();
  expect(asked).toEqual([]);
});

test("a read waits until all recent writes are decided, and the next one asks nothing", async () => {
  const writes = newWrites(["1", "2"], ["2"], []);
  writes.add(1n);
  writes.add(2n);
  await writes.settled();
  await writes.settled();
  expect(asked).toEqual([["1", "2"], ["1", "2"], ["2"]]);
});

test("a read waits a second for a write, and no longer", async () => {
  const writes = newWrites(["1"]);
  writes.add(1n);
  await writes.settled();
  expect([asked.length, nowMs]).toEqual([4, 1_200]);
});

test("beyond 100 writes, reads wait for the newest", async () => {
  const writes = newWrites([]);
  for (let txSeq = 0n; txSeq < 150n; txSeq++) writes.add(txSeq);
  await writes.settled();
  expect(asked).toEqual([Array.from({ length: 100 }, (_, n) => `${n + 50}`)]);
});

test("a read waits a second while other writes are recorded without end, and not for what follows it", async () => {
  const writes = newWrites(["1", "2", "3"]);
  let next = 2n;
  // They end, so that a read that waits for all of them ends, too.
  onQuery = () => nowMs < 10_000 && writes.add(next++);
  writes.add(1n);
  await writes.settled();
  expect(nowMs).toBe(1_200);
});

test("a read does not wait for a write that is recorded after it", async () => {
  const writes = newWrites(["2"]);
  onQuery = () => writes.add(2n);
  writes.add(1n);
  await writes.settled();
  expect(nowMs).toBe(300);
});

test("a read waits a second for a write that is recorded again and again", async () => {
  const writes = newWrites(["1"]);
  onQuery = () => nowMs < 10_000 && writes.add(1n);
  writes.add(1n);
  await writes.settled();
  expect(nowMs).toBe(1_200);
});
