import { connect } from "node:net";
import { expect, test } from "vitest";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

/** 50 ms on an otherwise idle machine; the client takes its part of these turns as well. */
const MAX_TURN_MS = 100;
/** The client reads and sends several of them in one turn. */
const MAX_COMMON_MS = 250;

const stack = useStack();

const numbered = (count: number, item: (n: number) => object) =>
  Array.from({ length: count }, (_, n) => item(n));
const streamId = `0x${"22".repeat(32)}`;
const CASES = [
  {
    field: "prepareKvWrite",
    type: "PrepareKvWriteInput",
    input: {
      ...{ from: `0x${"11".repeat(20)}`, version: "1" },
      writes: numbered(1_000, (n) => ({ streamId, keyText: `key ${n}`, text: "v" })),
      reads: numbered(1_000, (n) => ({ streamId, keyText: `key ${n}` })),
      deletes: numbered(1_000, (n) => ({ streamId, keyText: `gone ${n}` })),
    },
  },
  {
    field: "messageTokenCount",
    type: "MessageTokenCountInput",
    input: {
      model: "any",
      messages: [{ role: "USER", content: numbered(9_900, () => ({ type: "text", text: "a" })) }],
    },
  },
] as const;

test.each(CASES)(
  "ten aliases of $field with a large variable share no turn of the event loop",
  async (one) => {
    const { secret } = await seedAccount(stack().app.database, 1_000n);
    const aliases = Array.from({ length: 10 }, (_, n) => `f${n}: ${one.field}(input: $i) { __typename }`);
    const body = JSON.stringify({
      query: `query ($i: ${one.type}!) { ${aliases.join(" ")} }`,
      variables: { i: one.input },
    });
    const ask = async () => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
      const reply = await fetch(`${stack().origin}/graphql`, { method: "POST", headers, body });
      expect(Object.keys(((await reply.json()) as { data: object }).data)).toHaveLength(10);
    };
    await ask();
    expect(await repeatedTurnMs(MAX_TURN_MS, ask)).toBeLessThan(MAX_TURN_MS);
    // Neither do several such operations that arrive together.
    const askAll = () => Promise.all(Array.from({ length: 12 }, ask));
    expect(await repeatedTurnMs(MAX_COMMON_MS, askAll)).toBeLessThan(MAX_COMMON_MS);
  },
);

test("a large operation whose client leaves is no error in the log", async () => {
  const { app, origin, logged } = stack();
  const { secret } = await seedAccount(app.database, 1_000n);
  const [, { field, type, input }] = CASES;
  const body = JSON.stringify({
    query: `query ($i: ${type}!) { ${field}(input: $i) { __typename } }`,
    variables: { i: input },
  });
  const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
  const length = Buffer.byteLength(body);
  const leaving = Array.from({ length: 10 }, async () => {
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    const head = { host: "gateway", "content-length": length, ...headers };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /graphql HTTP/1.1\r\n${lines.join("")}\r\n`);
    await new Promise((sent) => socket.write(body, sent));
    socket.destroy();
  });
  await Promise.all(leaving);
  const reply = await fetch(`${origin}/graphql`, { method: "POST", headers, body });
  expect(reply.status).toBe(200);
  expect(logged()).not.toContain('"level":50');
});
