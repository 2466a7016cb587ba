// @module-tag large
import { describe, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { nativeEvents, nativeResponse } from "../../support/inference/native-responses.ts";
import {
  breakOff,
  openStream,
  type Script,
  sendJson,
  trickle,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

type Fields = Readonly<Record<string, unknown>>;

const INPUT = "What is the sea?";
const pricing = (n: number) => ({ prompt: `${PRICES[n]?.prompt}`, completion: `${PRICES[n]?.completion}` });
const keeping = { supported_formats: ["openai", "responses"], keeps_responses: true };

const router = await useRouter({
  models: [],
  more: (n) => [
    { id: "kept", pricing: pricing(n), ...keeping, ...(n === 0 && { keeps_responses: false }) },
    { id: "other", pricing: pricing(n), ...keeping },
    ...(n === 1 ? [{ id: "moving", pricing: pricing(n), ...keeping }] : []),
    { id: "stateless", pricing: pricing(n), supported_formats: ["responses"] },
  ],
});

/** Answers with another id each time, and repeats what it continues. */
const stateful: Script = (call, response, n) => {
  const { previous_response_id = null, store, model } = call.body;
  const fields = { id: `resp_theirs${n}`, previous_response_id, store, model };
  if (!call.body.stream) return sendJson(response, 200, nativeResponse(fields));
  openStream(response).end(
    nativeEvents(fields).join("").replaceAll('"id":"resp_theirs"', `"id":"resp_theirs${n}"`),
  );
};
const down: Script = (_, response) => sendJson(response, 503, { error: { message: "down" } });

function set(model: string, ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

async function ask(secret: string, body: object, headers: Record<string, string> = {}) {
  const reply = await fetch(`${router().origin}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}`, ...headers },
    body: JSON.stringify({ input: INPUT, max_output_tokens: 50, ...body }),
  });
  return { status: reply.status, text: await reply.text() };
}

/** The id of a response that is kept. */
async function keptId({ secret }: Seeded, body: object = { model: "kept" }): Promise<string> {
  const { status, text } = await ask(secret, { ...body, store: true });
  expect(status, text).toBe(200);
  const data = text.startsWith("{")
    ? text
    : (/^data: (\{"type":"response.completed.*)$/m.exec(text)?.[1] ?? "");
  const parsed = JSON.parse(data) as Fields & { readonly response?: Fields };
  return String((parsed.response ?? parsed).id);
}

const sentTo = (n: number, model: string) => router().scripted[n]?.callsOf(model).at(-1)?.body;
const callsTo = (n: number, model: string) => router().scripted[n]?.callsOf(model).length;
const refused = (param: string) => ({ error: { code: "invalid_body", param } });
/** As OpenAI's service reports it, so that clients send the whole conversation again. */
const notFound = { error: { code: "previous_response_not_found", param: "previous_response_id" } };

describe("a response with store: true", () => {
  test.each([false, true])("has an id of ours everywhere, with stream %s", async (stream) => {
    set("kept", stateful, stateful);
    const seeded = await router().seed();
    const { text } = await ask(seeded.secret, { model: "kept", store: true, stream });
    expect(text).not.toContain("resp_theirs");
    const ids = [...text.matchAll(/"id":"(resp_[^"]*)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(stream ? 3 : 1);
    expect(new Set(ids)).toEqual(new Set([expect.stringMatching(/^resp_[0-9a-f]{32}$/)]));
    expect(text).toContain(`"request_id":"req-${ids[0]?.slice(5)}"`);
  });

  test("is only sent to providers that keep responses, though others are cheaper", async () => {
    set("kept", stateful, stateful);
    const seeded = await router().seed();
    const before = callsTo(0, "kept");
    await keptId(seeded);
    expect([callsTo(0, "kept"), sentTo(1, "kept")?.store]).toEqual([before, true]);
    const { status, text } = await ask(seeded.secret, { model: "stateless", store: true });
    expect([status, JSON.parse(text)]).toMatchObject([400, refused("store")]);
  });

  test("is sent to another provider if the first fails, and then continued there", async () => {
    set("other", down, stateful);
    const seeded = await router().seed();
    const id = await keptId(seeded, { model: "other" });
    set("other", stateful, stateful);
    const before = callsTo(0, "other");
    const { status } = await ask(seeded.secret, { model: "other", previous_response_id: id });
    expect([status, callsTo(0, "other")]).toEqual([200, before]);
    expect(sentTo(1, "other")?.previous_response_id).toMatch(/^resp_theirs/);
  });
});

describe("a request that continues a response", () => {
  test.each([false, true])("is sent the provider's id, and answered with ours, stream %s", async (stream) => {
    set("kept", stateful, stateful);
    const seeded = await router().seed();
    const id = await keptId(seeded, { model: "kept", stream });
    const { status, text } = await ask(seeded.secret, { model: "kept", previous_response_id: id, stream });
    expect(status, text).toBe(200);
    expect(sentTo(1, "kept")).toMatchObject({ store: false, input: INPUT });
    expect(sentTo(1, "kept")?.previous_response_id).toMatch(/^resp_theirs\d+$/);
    expect(text).toContain(`"previous_response_id":"${id}"`);
  });

  test("of another account or key finds nothing, and no provider is called", async () => {
    set("kept", stateful, stateful);
    const { app, seed } = router();
    const seeded = await seed();
    const id = await keptId(seeded);
    const sibling = await app.apiKeys.create(seeded.account, "another");
    const before = callsTo(1, "kept");
    for (const secret of [(await seed()).secret, sibling.secret]) {
      const { status, text } = await ask(secret, { model: "kept", previous_response_id: id });
      expect([status, JSON.parse(text)]).toMatchObject([400, notFound]);
    }
    expect(callsTo(1, "kept")).toBe(before);
    expect((await ask(seeded.secret, { model: "kept", previous_response_id: id })).status).toBe(200);
  });

  test.each([
    ["one that was not kept", undefined],
    ["one that does not exist", `resp_${"0".repeat(32)}`],
    ["the provider's own", "resp_theirs0"],
    ["an id that is none", "resp_'; drop table x; --"],
    ["an empty rest", "resp_"],
    ["a batch's", "resp_batch_req_1"],
  ])("is refused for %s", async (_, given) => {
    set("kept", stateful, stateful);
    const seeded = await router().seed();
    const { text } = await ask(seeded.secret, { model: "kept" });
    const id = given ?? (JSON.parse(text).x_0g_trace.request_id as string).replace("req-", "resp_");
    const before = callsTo(1, "kept");
    const reply = await ask(seeded.secret, { model: "kept", previous_response_id: id });
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([400, notFound]);
    expect(callsTo(1, "kept")).toBe(before);
  });

  test("may name neither another model nor another provider", async () => {
    set("kept", stateful, stateful);
    const { app, seed } = router();
    const seeded = await seed();
    const body = { previous_response_id: await keptId(seeded) };
    const model = await ask(seeded.secret, { ...body, model: "other" });
    expect([model.status, JSON.parse(model.text)]).toMatchObject([400, refused("model")]);
    const [cheap] = app.catalogue.model("kept")?.providers ?? [];
    const pinned = await ask(
      seeded.secret,
      { ...body, model: "kept" },
      { "x-0g-provider-address": cheap?.address ?? "" },
    );
    expect([pinned.status, JSON.parse(pinned.text)]).toMatchObject([400, refused("previous_response_id")]);
  });

  test.each([
    ["with its code", 400, { message: "Unknown response.", code: "previous_response_not_found" }],
    ["in words", 400, { message: "Previous response with id 'resp_theirs0' not found." }],
    ["in words, as vLLM does", 404, { message: "Response with id 'resp_theirs0' not found.", code: 404 }],
  ])("reports that its provider forgot the response, which it said %s", async (_, theirs, error) => {
    set("kept", stateful, stateful);
    const seeded = await router().seed();
    const id = await keptId(seeded);
    set("kept", stateful, (_call, response) => sendJson(response, theirs, { error }));
    const { status, text } = await ask(seeded.secret, { model: "kept", previous_response_id: id });
    expect([status, JSON.parse(text)]).toMatchObject([400, notFound]);
    expect(text).not.toContain("resp_theirs");
  });

  test("goes to no other provider when its own fails", async () => {
    set("other", down, stateful);
    const seeded = await router().seed();
    const id = await keptId(seeded, { model: "other" });
    set("other", stateful, down);
    const before = callsTo(0, "other");
    const { status, text } = await ask(seeded.secret, { model: "other", previous_response_id: id });
    expect([status, callsTo(0, "other")], text).toEqual([502, before]);
  });

  test("is 503 when that provider no longer serves it", async () => {
    set("moving", stateful, stateful);
    const { offer, seed } = router();
    const seeded = await seed();
    const id = await keptId(seeded, { model: "moving" });
    for (const entry of [
      { id: "moving", pricing: pricing(1), supported_formats: ["openai"] },
      { id: "moved", pricing: pricing(1) },
    ]) {
      await offer(1, entry);
      const { status, text } = await ask(seeded.secret, { model: "moving", previous_response_id: id });
      expect([status, JSON.parse(text)]).toMatchObject([
        503,
        { error: { code: "no_available_provider", param: "previous_response_id" } },
      ]);
    }
  });

  test("holds for the whole conversation, whose tokens a guardrail also counts", async () => {
    const usage = { input_tokens: 5_000, output_tokens: 8, total_tokens: 5_008 };
    set("kept", stateful, (_, response, n) =>
      sendJson(response, 200, nativeResponse({ id: `resp_theirs${n}`, usage })),
    );
    const { app, seed } = router();
    const left = 5_000n * 5n - 1n;
    const seeded = await seed(5_000n * 5n + 8n * 7n + left);
    const body = { model: "kept", previous_response_id: await keptId(seeded) };
    const before = callsTo(1, "kept");
    const { status, text } = await ask(seeded.secret, body);
    expect([status, JSON.parse(text).error.code]).toEqual([402, "insufficient_balance"]);
    expect(await balanceAtRest(app, seeded.account)).toMatchObject({ held: 0n, total: left });
    await app.apiKeys.update(seeded.account, seeded.keyId, { maxInputTokens: 4_000 });
    const guarded = await ask(seeded.secret, body);
    expect([guarded.status, guarded.text]).toEqual([403, expect.stringContaining("max_input_tokens")]);
    expect(callsTo(1, "kept")).toBe(before);
  });
});

test("a stream that broke is not kept", async () => {
  set("kept", stateful, async (_, response) => {
    openStream(response);
    await trickle(response, nativeEvents().slice(0, 7));
    await breakOff(response);
  });
  const seeded = await router().seed();
  const { text } = await ask(seeded.secret, { model: "kept", store: true, stream: true });
  const [, id] = /"id":"(resp_[0-9a-f]{32})"/.exec(text) ?? [];
  expect(text).toContain('"type":"response.failed"');
  const { status } = await ask(seeded.secret, { model: "kept", previous_response_id: id });
  expect(status).toBe(400);
});

test("in the end the ledger is consistent and no hold is open", async () => {
  const { app, seed } = router();
  await balanceAtRest(app, (await seed()).account);
  const { faults, openHolds } = await new LedgerService(app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});
