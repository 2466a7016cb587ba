import fc from "fast-check";
import { expect, test } from "vitest";
import { Mutex, NaturalBatch } from "../../../src/kernel/async/batch.ts";
import { PushIterator } from "../../../src/kernel/async/push-iterator.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { decodeCursor, encodeCursor, listOf } from "../../../src/kernel/page.ts";
import { formatToken, MAX_NEURON, parseNeuron, parseToken } from "../../../src/kernel/text/amount.ts";
import { newSecret, readSecret } from "../../../src/keys/auth/secret.ts";

test("an amount survives the conversion to text and back, to the last neuron", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: MAX_NEURON }), (neuron) => {
      expect(parseNeuron(neuron.toString())).toBe(neuron);
      expect(parseToken(formatToken(neuron))).toBe(neuron);
    }),
  );
});

test.each(["", "-1", "1.5", "0x1", "1e3", "01", " 1", "٣", `${MAX_NEURON + 1n}`, "9".repeat(400)])(
  "%s is not an amount of neuron",
  (text) => expect(() => parseNeuron(text)).toThrow("decimal integer"),
);

test("a secret is accepted with its own checksum and with no other", () => {
  for (const prefix of ["sk-", "mk-"] as const) {
    const secret = newSecret(prefix);
    expect(secret).toMatch(/^(sk|mk)-[0-9A-Za-z]{49}$/);
    expect(readSecret(secret)).toBe(prefix);
    for (let at = 3; at < secret.length; at++) {
      const other = secret[at] === "x" ? "y" : "x";
      expect(readSecret(secret.slice(0, at) + other + secret.slice(at + 1))).toBeUndefined();
    }
  }
});

test("a cursor is decoded, and anything else is refused with the name of the argument", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), (key) => {
      expect(decodeCursor(encodeCursor("list", ...key), "list", key.length)).toEqual(key);
    }),
  );
  // As an earlier version encoded it.
  expect(decodeCursor(Buffer.from('["a","b"]').toString("base64url"), "list", 2)).toEqual(["a", "b"]);
  const foreign = [encodeCursor("list", "a"), encodeCursor("other", "a", "b"), encodeCursor("list")];
  for (const cursor of ["", "!!", ...foreign, Buffer.from('["list",1,2]').toString("base64url")])
    expect(() => decodeCursor(cursor, "list", 2)).toThrow(
      expect.objectContaining({ code: "invalid_cursor" }),
    );
});

test("a cursor of a list that each of several things has is refused by another one's, not by its name alone", () => {
  const [one, other] = [listOf("rows", "a", "b"), listOf("rows", "ab")];
  expect(decodeCursor(encodeCursor(one, "7"), one, 1)).toEqual(["7"]);
  expect(() => decodeCursor(encodeCursor(other, "7"), one, 1)).toThrow(
    expect.objectContaining({ code: "invalid_cursor" }),
  );
  // As earlier versions encoded it.
  expect(decodeCursor(encodeCursor("rows", "7"), one, 1)).toEqual(["7"]);
  expect(encodeCursor(listOf("rows", "x".repeat(10_000)), "7").length).toBeLessThan(60);
});

test("return() ends a waiting iterator at once, and closes its source once", async () => {
  let ends = 0;
  const iterator = new PushIterator<number>(() => void ends++);
  iterator.push(1);
  expect(await iterator.next()).toEqual({ done: false, value: 1 });
  const waiting = iterator.next();
  await iterator.return();
  expect(await waiting).toEqual({ done: true, value: undefined });
  await iterator.return();
  iterator.push(2);
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
  expect(ends).toBe(1);
});

test("a reader that falls too far behind gets the buffered items and then an error", async () => {
  const iterator = new PushIterator<number>(() => {}, 2);
  for (const value of [1, 2, 3]) iterator.push(value);
  expect((await iterator.next()).value).toBe(1);
  expect((await iterator.next()).value).toBe(2);
  await expect(iterator.next()).rejects.toThrow("2 events behind");
  expect((await iterator.next()).done).toBe(true);
});

test("items that arrive while a batch runs share the next one, in order, and an item in an idle batcher runs alone", async () => {
  const batches: number[][] = [];
  const batch = new NaturalBatch<number, number>(async (items) => {
    batches.push([...items]);
    return items.map((item) => item * 10);
  });
  const results = await Promise.all([1, 2, 3].map((item) => batch.add(item)));
  expect(results).toEqual([10, 20, 30]);
  expect(batches).toEqual([[1], [2, 3]]);
  await batch.add(4);
  expect(batches.at(-1)).toEqual([4]);
});

test("a batch that gathers takes all items of the same turn of the event loop, and another does not wait", async () => {
  let gathers = true;
  const batches: number[][] = [];
  const batch = new NaturalBatch<number, number>(
    async (items) => {
      batches.push([...items]);
      return items;
    },
    { gathers: () => gathers },
  );
  const first = batch.add(1);
  await Promise.resolve();
  await Promise.all([first, batch.add(2), batch.add(3)]);
  expect(batches).toEqual([[1, 2, 3]]);
  gathers = false;
  await Promise.all([batch.add(4), batch.add(5)]);
  expect(batches).toEqual([[1, 2, 3], [4], [5]]);
});

test("a failed batch fails all of its items and no others", async () => {
  const batch = new NaturalBatch<number, number>(async (items) => {
    if (items.includes(2)) throw new Error("broken");
    return items;
  });
  const results = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(await batch.add(5)).toBe(5);
});

test("no secret reaches the log, wherever it is in a line", () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(line) });
  const secret = newSecret("sk-");
  log.info(
    { headers: { authorization: `Bearer ${secret}` }, text: `key ${secret}`, err: new Error(secret) },
    secret,
  );
  expect(lines.join()).not.toContain(secret.slice(8));
  expect(lines.join()).toContain("[redacted]");
});

test("a log line is complete JSON, contains no prompt, and is bounded in size", () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(line) });
  const driver = Object.assign(new Error("x".repeat(100_000)), { code: "23505", query: "secret question" });
  const request = { prompt: "secret question", messages: [{ content: "secret question" }], model: "m" };
  log.info({
    request,
    err: new Error("outer", { cause: driver }),
    label: `\r\n\u001b[31m${"é".repeat(1_000_000)}`,
  });
  log.info({
    deep: { a: { b: { c: { d: { e: "secret question" } } } } },
    many: Array(10_000).fill("item"),
    big: 2n ** 70n,
  });
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line.length).toBeLessThan(40_000);
    for (const control of ["\r", "\n", "\u001b"]) expect(line.trimEnd()).not.toContain(control);
    expect(line).not.toContain("secret question");
  }
  const [first, second] = lines.map((line) => JSON.parse(line));
  expect(first).toMatchObject({
    request: { prompt: "[redacted]", messages: "[redacted]", model: "m" },
    err: {
      type: "Error",
      message: "outer",
      cause: { code: "23505", message: expect.stringMatching(/^x{1000}…$/) },
    },
  });
  expect(first.err.cause).not.toHaveProperty("query");
  expect(second).toMatchObject({ big: (2n ** 70n).toString() });
});

test("batches that share a mutex run one at a time, gather what arrives meanwhile, and pass on after a failure", async () => {
  const mutex = new Mutex();
  const runs: string[] = [];
  let inFlight = 0;
  const batch = (name: string) =>
    new NaturalBatch(
      async (items: readonly number[]) => {
        expect(++inFlight).toBe(1);
        runs.push(`${name} ${items.join()}`);
        await Promise.resolve();
        inFlight--;
        if (items.includes(0)) throw new Error("zero");
        return items;
      },
      { mutex },
    );
  const [first, second] = [batch("first"), batch("second")];
  const results = await Promise.allSettled([
    first.add(0),
    second.add(1),
    first.add(2),
    second.add(3),
    first.add(4),
  ]);
  expect(results.map((result) => (result.status === "fulfilled" ? result.value : "failed"))).toEqual([
    ...["failed", 1, 2, 3, 4],
  ]);
  expect(runs).toEqual(["first 0", "second 1,3", "first 2,4"]);
  expect(await second.add(5)).toBe(5);
});
