import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import {
  DONE,
  event,
  FINISH,
  good,
  openStream,
  ROLE,
  sendJson,
  USAGE,
  USAGE_CHUNK,
} from "../../support/inference/scripted-provider.ts";
import { scaled } from "../../support/machine.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const MODELS = [
  "leaves-between",
  "deadline",
  "kept-alive",
  "late",
  "many",
  "leaves-first",
  "no-usage",
] as const;
const router = await useRouter({
  models: MODELS,
  settings: { PROVIDER_TOTAL_MS: "4000" },
});

async function requestsOf(seeded: Seeded) {
  const { rows } = await router().app.requests.list(seeded.account, { first: 20 });
  return rows;
}

function endOf(seeded: Seeded) {
  return until(async () => {
    const [request] = await requestsOf(seeded);
    return request !== undefined && request.status !== "running" && request;
  });
}

test("a client that disconnects while the router waits to retry pays nothing, and no provider is called any more", async () => {
  const { scripted, seed, origin } = router();
  const seeded = await seed();
  for (const provider of scripted)
    provider.scripts.set("leaves-between", (_, response) =>
      sendJson(response, 429, {}, { "retry-after": "2" }),
    );
  const leaving = new AbortController();
  const asked = fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({
      model: "leaves-between",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    }),
  }).catch(() => undefined);
  await until(() => scripted[1]?.callsOf("leaves-between").length === 1);
  leaving.abort();
  await asked;
  expect(await endOf(seeded)).toMatchObject({ status: "aborted", cost: { total: 0n } });
  await sleep(2_500);
  expect(scripted.map((provider) => provider.callsOf("leaves-between").length)).toEqual([1, 1]);
});

test("a client that disconnects before the first content pays nothing, and the provider is stopped", async () => {
  const { scripted, seed, origin } = router();
  const seeded = await seed();
  let isGone = false;
  scripted[0]?.scripts.set("leaves-first", (_, response) => {
    openStream(response).write(ROLE);
    response.once("close", () => {
      isGone = true;
    });
  });
  const leaving = new AbortController();
  const asked = fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({
      model: "leaves-first",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    }),
  }).catch(() => undefined);
  await until(() => scripted[0]?.callsOf("leaves-first").length === 1);
  leaving.abort();
  await asked;
  await until(() => isGone);
  expect(await endOf(seeded)).toMatchObject({ status: "aborted", cost: { total: 0n } });
  expect(scripted[1]?.callsOf("leaves-first")).toHaveLength(0);
});

test("all attempts together share one deadline", async () => {
  const { scripted, seed, chat } = router();
  const seeded = await seed();
  for (const provider of scripted)
    provider.scripts.set("deadline", async (_, response) => {
      await sleep(1_200);
      response.writeHead(200, { "content-type": "application/json" });
      while (!response.destroyed) {
        response.write(" ");
        await sleep(200);
      }
    });
  const startedMs = performance.now();
  const reply = await chat(seeded, { model: "deadline" });
  expect(reply.status).toBe(502);
  expect(performance.now() - startedMs).toBeLessThan(scaled(6_000));
  expect(await endOf(seeded)).toMatchObject({ status: "failed", cost: { total: 0n } });
});

test("a stream that ends normally leaves its connection to the next one", async () => {
  const { scripted, seed, chat } = router();
  const seeded = await seed();
  const sockets = new Set<unknown>();
  scripted[0]?.scripts.set("kept-alive", (call, response, n) => {
    sockets.add(response.socket);
    return good(call, response, n);
  });
  for (let n = 0; n < 5; n++)
    await (await chat(seeded, { model: "kept-alive", stream: true, max_tokens: 50 })).text();
  expect(sockets.size).toBe(1);
});

test("a delayed usage chunk is waited for, and is what is charged", async () => {
  const { scripted, seed, chat } = router();
  const seeded = await seed();
  scripted[0]?.scripts.set("late", async (_, response) => {
    openStream(response).write([ROLE, event({ delta: { content: "The sea" } }), FINISH].join(""));
    await sleep(600);
    response.end(USAGE_CHUNK + DONE);
  });
  await (await chat(seeded, { model: "late", stream: true, max_tokens: 50 })).text();
  const [price] = PRICES;
  const due = BigInt(USAGE.prompt_tokens) * price.prompt + BigInt(USAGE.completion_tokens) * price.completion;
  expect(await endOf(seeded)).toMatchObject({ usageEstimated: false, cost: { total: due } });
});

test("several choices are finished when each of them is", async () => {
  const { scripted, seed, chat } = router();
  const seeded = await seed();
  scripted[0]?.scripts.set("many", async (_, response) => {
    const of = (index: number, fields: object) => event({ index, ...fields });
    openStream(response).write(
      [0, 1].map((index) => of(index, { delta: { content: `a${index}` } })).join("") +
        of(0, { delta: {}, finish_reason: "stop" }),
    );
    await sleep(700);
    response.end(
      of(1, { delta: { content: "b1" } }) + of(1, { delta: {}, finish_reason: "stop" }) + USAGE_CHUNK + DONE,
    );
  });
  const text = await (await chat(seeded, { model: "many", stream: true, n: 2, max_tokens: 50 })).text();
  expect(text).toContain('"b1"');
  expect(text.endsWith(DONE)).toBe(true);
});

test("a provider that refuses the option for usage is called without it, now and later, and no client notices", async () => {
  const { scripted, seed, chat } = router();
  const seeded = await seed();
  for (const provider of scripted)
    provider.scripts.set("no-usage", (call, response, n) => {
      if (call.body.stream_options === undefined) return good(call, response, n);
      sendJson(response, 400, { error: { message: "Unrecognized field: stream_options" } });
    });
  const ask = async (body: object = {}) =>
    chat(
      seeded,
      { model: "no-usage", stream: true, max_tokens: 50, ...body },
      { "x-0g-provider-allow-fallbacks": "false" },
    );
  const wanting = { stream_options: { include_usage: true } };
  for (const [calls, body] of [
    [2, {}],
    [3, {}],
    [4, wanting],
  ] as const) {
    const text = await (await ask(body)).text();
    expect(text.endsWith(DONE)).toBe(true);
    expect(/"usage":\{"prompt_tokens":/.test(text)).toBe(body === wanting);
    expect(scripted.flatMap((provider) => provider.callsOf("no-usage"))).toHaveLength(calls);
    expect(scripted[0]?.calls.at(-1)?.body).not.toHaveProperty("stream_options");
  }
});

test("in the end the ledger is consistent", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});
