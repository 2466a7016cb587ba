// @module-tag large
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, inject, test } from "vitest";
import { MODEL } from "../../support/chain/network.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { chat, chatBody, readAnswer, rowsOf, stored, useOf } from "../../support/inference/cached-chat.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack, useTwins } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const RICH = 10n ** 15n;
describe("a stored answer at 30 % of its price, within 8 MiB", () => {
  const stack = useStack({ CACHE_HIT_PRICE_PERCENT: "30", CACHE_MIB_PER_ACCOUNT: "8" });

  test("costs what was received of it if its client leaves midway", async () => {
    const owner = await seedAccount(stack().app.database, RICH);
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: MODEL };
    const line = (choice: object) =>
      `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, ...choice }] })}\n\n`;
    const word = line({ delta: { content: "sea ".repeat(900) }, finish_reason: null });
    const events = `${word.repeat(1_100)}${line({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;
    stack().provider.behaviour = { instead: { status: 200, contentType: "text/event-stream", body: events } };
    const large = { stream: true, max_tokens: 1_000_000 };
    const first = await chat(stack(), owner, large);
    expect(await first.text()).toContain("[DONE]");
    stack().provider.behaviour = {};
    await until(async () => expect(await stored(stack(), owner)).toHaveLength(1));
    const { hostname, port } = new URL(stack().origin);
    const socket = connect(Number(port), hostname);
    const body = JSON.stringify(chatBody(large));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nx-0g-cache: 60\r\n` +
        `authorization: Bearer ${owner.secret}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    // The client reads nothing and leaves at once: in time, the system would take most of the answer for it.
    await once(socket, "readable");
    socket.destroy();
    await until(async () => expect(await rowsOf(stack(), owner)).toHaveLength(2));
    const [original, left] = await rowsOf(stack(), owner);
    expect(left).toMatchObject({ status: "aborted", routing: { cachedFrom: original?.id } });
    expect(left?.outputTokens).toBeLessThan(original?.outputTokens ?? 0);
    const [price] = await stack().app.database.rows<{ input: string; output: string }>(
      "select input_price::text as input, output_price::text as output from inference_request where id = $1::text",
      [left?.id],
    );
    const partOf = (tokens: number | null | undefined, neuron = "0") =>
      (BigInt(tokens ?? 0) * BigInt(neuron) * 30n) / 100n;
    expect(left?.cost?.total).toBe(
      partOf(left?.inputTokens, price?.input) + partOf(left?.outputTokens, price?.output),
    );
    await requireAvailable(stack().app, owner, {
      available: RICH - (original?.cost?.total ?? 0n) - (left?.cost?.total ?? 0n),
    });
  });

  test("is charged exactly once, rounded down", async () => {
    const owner = await seedAccount(stack().app.database, RICH);
    await chat(stack(), owner);
    const hit = await chat(stack(), owner);
    const [original] = await rowsOf(stack(), owner);
    const { input = 0n, output = 0n, total = 0n } = original?.cost ?? {};
    const cost = (input * 30n) / 100n + (output * 30n) / 100n;
    const body = await readAnswer(hit);
    expect(body.x_0g_trace.billing).toEqual({
      input_cost: String((input * 30n) / 100n),
      output_cost: String((output * 30n) / 100n),
      total_cost: String(cost),
    });
    expect(cost).toBeGreaterThan(0n);
    await requireAvailable(stack().app, owner, { available: RICH - total - cost });
  });

  test("needs the balance that it would cost", async () => {
    const owner = await seedAccount(stack().app.database, RICH);
    await chat(stack(), owner);
    await stack().app.apiKeys.update(owner.account, owner.keyId, { creditLimit: 0n });
    const reply = await chat(stack(), owner);
    expect([reply.status, (await readAnswer(reply)).error.code]).toEqual([402, "credit_limit_exceeded"]);
    expect(await rowsOf(stack(), owner)).toHaveLength(1);
  });

  test("leaves first if it is the oldest when the room is used up", async () => {
    const owner = await seedAccount(stack().app.database, RICH);
    // Each text is repeated by the provider, so its answer is as long.
    const question = (n: number) => ({ messages: [{ role: "user", content: `${n} ${"sea ".repeat(20)}` }] });
    await chat(stack(), owner, question(0));
    const [row] = await stored(stack(), owner);
    await stack().app.database.rows(
      "update cached_answer set size_bytes = 5000000 where account = $1::text returning 1",
      [owner.account],
    );
    await chat(stack(), owner, question(1));
    expect(await stored(stack(), owner)).toHaveLength(2);
    await stack().app.database.rows(
      "update cached_answer set size_bytes = 5000000 where account = $1::text and name <> $2::text returning 1",
      [owner.account, row?.name],
    );
    await chat(stack(), owner, question(2));
    const names = (await stored(stack(), owner)).map(({ name }) => name);
    expect(names).toHaveLength(2);
    expect(names).not.toContain(row?.name);
    expect(useOf(await chat(stack(), owner, question(1)))).toBe("hit");
    expect(useOf(await chat(stack(), owner, question(0)))).toBe("miss");
  });
});

describe("without room for stored answers", () => {
  const stack = useStack({ CACHE_MIB_PER_ACCOUNT: "0" });

  test("every request is a miss", async () => {
    const owner = await seedAccount(stack().app.database, RICH);
    for (let n = 0; n < 2; n++) expect(useOf(await chat(stack(), owner))).toBe("miss");
    expect(await stored(stack(), owner)).toEqual([]);
  });
});

describe.skipIf(!inject("postgresUrl"))("in two processes on one PostgreSQL", () => {
  const twins = useTwins({ CACHE_HIT_PRICE_PERCENT: "50" });

  test("what one stores, the other returns; 50 equal requests on both are charged exactly", async () => {
    const [one, other] = twins();
    const owner = await seedAccount(one.app.database, RICH);
    expect(useOf(await chat(one, owner))).toBe("miss");
    expect(useOf(await chat(other, owner))).toBe("hit");
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => chat(n % 2 === 0 ? one : other, owner, { seed: 1 })),
    );
    let charged = 0n;
    for (const reply of replies) charged += BigInt((await readAnswer(reply)).x_0g_trace.billing.total_cost);
    const rows = await rowsOf(one, owner);
    expect(rows).toHaveLength(52);
    const before = (rows[0]?.cost?.total ?? 0n) + (rows[1]?.cost?.total ?? 0n);
    await requireAvailable(one.app, owner, { available: RICH - before - charged });
  });
});
