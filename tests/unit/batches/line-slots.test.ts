import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { responseLine } from "../../../src/inference/batches/batch-output.ts";
import { LineSlots } from "../../../src/inference/batches/line-slots.ts";
import { until } from "../../support/until.ts";

const never = new AbortController().signal;

test("slots are given in the order in which they are asked for, and no more than there are", async () => {
  const slots = new LineSlots({ parallel: 2, live: () => 0, isOverloaded: () => false });
  const given: string[] = [];
  const take = async (name: string) => {
    const release = await slots.acquire(never);
    given.push(name);
    return release;
  };
  const taken = ["a1", "a2", "b1", "a3", "b2"].map(take);
  await setImmediate();
  expect(given).toEqual(["a1", "a2"]);
  for (const slot of taken) (await slot)?.();
  expect(given).toEqual(["a1", "a2", "b1", "a3", "b2"]);
});

test("live requests take slots away, down to one, and an overload takes all", async () => {
  let [live, isOverloaded] = [10, false];
  const slots = new LineSlots({ parallel: 4, live: () => live, isOverloaded: () => isOverloaded });
  const first = await slots.acquire(never);
  let given = 0;
  const count = async () => {
    const release = await slots.acquire(never);
    given++;
    return release;
  };
  const others = [count(), count(), count()];
  await setImmediate();
  expect(given).toBe(0);
  isOverloaded = true;
  first?.();
  await setImmediate();
  expect(given).toBe(0);
  [live, isOverloaded] = [0, false];
  await until(() => given === 3);
  for (const other of others) (await other)?.();
});

test("who leaves while waiting gets no slot, and takes none", async () => {
  const slots = new LineSlots({ parallel: 1, live: () => 0, isOverloaded: () => false });
  const first = await slots.acquire(never);
  const leaving = new AbortController();
  const left = slots.acquire(leaving.signal);
  const next = slots.acquire(never);
  leaving.abort();
  expect(await left).toBeUndefined();
  first?.();
  (await next)?.();
  expect(await slots.acquire(leaving.signal)).toBeUndefined();
});

test("an answer over several lines becomes one line of the same value", () => {
  const body = Buffer.from('{\r\n  "text": "a\\nb \u2028 ü",\n  "n": [1,\n2]\n}\n');
  const line = responseLine('say "hi"', { requestId: "r", statusCode: 200, body }).toString();
  expect(line.match(/\n/g)).toHaveLength(1);
  expect(JSON.parse(line)).toEqual({
    id: "r",
    custom_id: 'say "hi"',
    response: { status_code: 200, request_id: "r", body: { text: "a\nb \u2028 ü", n: [1, 2] } },
    error: null,
  });
});
