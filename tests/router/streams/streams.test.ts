import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { RESPONSE_HEAD } from "../../support/inference/native-responses.ts";
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
  "unread",
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
  more: () =>
    ["completions", "anthropic", "responses"].map((format) => ({
      ...{ id: `unread-${format}`, supported_formats: [format] },
      pricing: { prompt: "2", completion: "3" },
    })),
  settings: { CLIENT_STALL_MS: "1500", PROVIDER_TOTAL_MS: "4000" },
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

test("a client that reads nothing applies back-pressure, is disconnected after a timeout, and pays for what was sent", async () => {
  const { scripted, seed, origin, app } = router();
  const seeded = await seed(10n ** 15n);
  const piece = event({ delta: { content: "word ".repeat(2_000) } });
  let sentBytes = 0;
  let isGone = false;
  scripted[0]?.scripts.set("unread", async (_, response) => {
    openStream(response).write(ROLE);
    const gone = once(response, "close").then(() => {
      isGone = true;
    });
    while (!isGone && sentBytes < 200_000_000) {
      sentBytes += piece.length;
      if (!response.write(piece))
        await Promise.race([gone, new Promise((done) => response.once("drain", done))]);
    }
  });
  const outgoing = httpRequest(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
  });
  outgoing.end(
    JSON.stringify({
      model: "unread",
      stream: true,
      max_tokens: 1_000_000,
      messages: [{ role: "user", content: "hi" }],
    }),
  );
  const [incoming] = await once(outgoing, "response");
  incoming.pause();
  const failed = once(incoming, "error");
  outgoing.on("error", () => {});
  await until(() => isGone);
  const request = await endOf(seeded);
  expect(request).toMatchObject({ status: "aborted", usageEstimated: true });
  expect(request.cost?.total).toBeGreaterThan(0n);
  // All that the router and the sockets can have kept of it.
  expect(sentBytes).toBeLessThan(32_000_000);
  const balance = await balanceAtRest(app, seeded.account);
  expect(balance).toMatchObject({ held: 0n });
  // Whoever reads on sees a failure, and not the end of a shorter answer.
  incoming.resume();
  await failed;
  expect(incoming.complete).toBe(false);
});

const WORDS = "word ".repeat(2_000);
const prompt = { prompt: "hi" };
const messages = { messages: [{ role: "user", content: "hi" }] };
const messageEvent = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const text = (text: string) => `data: ${JSON.stringify({ choices: [{ index: 0, text }] })}\n\n`;

/** Endless streams by format: the model, its request, the first events, and the one that is repeated. */
const ENDLESS: readonly (readonly [string, string, object, string, string])[] = [
  ["/v1/chat/completions", "unread", messages, ROLE, event({ delta: { content: WORDS } })],
  ["/v1/completions", "unread-completions", prompt, text("a"), text(WORDS)],
  [
    ...["/v1/messages", "unread-anthropic", messages, messageEvent("message_start", { message: {} })],
    messageEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text: WORDS } }),
  ] as const,
  [
    ...["/v1/responses", "unread-responses", { input: "hi" }, RESPONSE_HEAD.join("")],
    messageEvent("response.output_text.delta", { output_index: 0, content_index: 0, delta: WORDS }),
  ] as const,
];

test.each(
  ENDLESS.flatMap((endless) => ["1.0", "1.1"].map((version) => [endless[0], version, endless] as const)),
)(
  "an unread stream of %s over HTTP/%s is reset, and not repeated as a whole answer",
  async (path, version, [, model, fields, head, piece]) => {
    const { scripted, seed, origin } = router();
    const seeded = await seed(10n ** 15n);
    scripted[0]?.scripts.set(model, async (_, response) => {
      openStream(response).write(head);
      const gone = once(response, "close").then(() => true);
      while (!response.destroyed)
        if (!response.write(piece))
          if (await Promise.race([gone, once(response, "drain").then(() => false)])) return;
    });
    const limit = path === "/v1/responses" ? { max_output_tokens: 1_000_000 } : { max_tokens: 1_000_000 };
    const body = JSON.stringify({ model, stream: true, ...limit, ...fields });
    const key = newId();
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    const failed = once(socket, "error");
    socket.pause();
    socket.write(
      `POST ${path} HTTP/${version}\r\nhost: a\r\nauthorization: Bearer ${seeded.secret}\r\nidempotency-key: ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const request = await endOf(seeded);
    expect(request.status).toBe("aborted");
    expect(request.cost?.total).toBeGreaterThan(0n);
    socket.resume();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
    const again = await fetch(`${origin}${path}`, {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${seeded.secret}`, "idempotency-key": key },
        "content-type": "application/json",
      },
      body,
    });
    expect(again.headers.get("idempotent-replayed")).toBeNull();
    await again.body?.cancel();
  },
);

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

test("a provider that refuses the option we add is called without it, now and later, and no client notices", async () => {
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
  for (const calls of [2, 3]) {
    const text = await (await ask()).text();
    expect(text.endsWith(DONE)).toBe(true);
    expect(scripted.flatMap((provider) => provider.callsOf("no-usage"))).toHaveLength(calls);
  }
  expect(scripted[0]?.calls.at(-1)?.body).not.toHaveProperty("stream_options");
  const asked = await ask({ stream_options: { include_usage: true } });
  expect(asked.status).toBe(400);
});

test("in the end the ledger is consistent", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});
