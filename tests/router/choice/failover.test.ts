import { describe, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import {
  completion,
  DONE,
  event,
  FINISH,
  openStream,
  type Script,
  sendJson,
  trickle,
  USAGE,
} from "../../support/inference/scripted-provider.ts";
import { toWav } from "../../support/inference/wav.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

/** A credential that matches no known pattern, with characters that JSON escapes. */
const ODD_KEY = String.raw`pass "word" of/the\workshop 2031`;
process.env.TEST_FAILOVER_KEY = ODD_KEY;

const IMAGE_PRICES = [100n, 130n, 170n] as const;
const SECOND_PRICES = [7n, 11n, 13n] as const;
const UNITS = (n: number) => [
  { id: "paint", service_type: "text-to-image", pricing: { image: String(IMAGE_PRICES[n]) } },
  { id: "retouch", service_type: "image-editing", pricing: { image: String(IMAGE_PRICES[n]) } },
  { id: "hear", service_type: "speech-to-text", pricing: { second: String(SECOND_PRICES[n]) } },
];

const down: Script = (_, response) => sendJson(response, 500, { error: "down" });
const reset: Script = (_, response) => void response.socket?.resetAndDestroy();
const empty: Script = (_, response) => sendJson(response, 200, { data: [], text: 7 });

const IMAGES = { created: 1, data: [{ b64_json: "aGVsbG8=" }] };
const wav = toWav(1);

const PROBED = "probed";
const SHUT = "shut";
const ECHOES = ["echo-plain", "echo-stream", "echo-blame", "echo-code", "echo-down"] as const;
const FEWER = ["fewer-once", "fewer-always"] as const;
const router = await useRouter({
  models: [PROBED, SHUT, ...ECHOES, ...FEWER],
  count: 2,
  more: UNITS,
  keyVariable: "TEST_FAILOVER_KEY",
});

function set(model: string, ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

const callsOf = (model: string) => router().scripted.map((provider) => provider.callsOf(model).length);

async function requestOf({ account }: Seeded): Promise<InferenceRequest> {
  return until(async () => {
    const { rows } = await router().app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(1);
    return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
  });
}

async function post(
  path: string,
  { secret }: Seeded,
  body: string | FormData,
  json = false,
): Promise<Response> {
  return fetch(`${router().origin}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, ...(json && { "content-type": "application/json" }) },
    body,
  });
}

function formOf(model: string, file: string, bytes: Buffer): FormData {
  const form = new FormData();
  form.set("model", model);
  form.set(file, new Blob([new Uint8Array(bytes)]), "a.wav");
  if (file === "image") form.set("prompt", "a sea");
  return form;
}

const KINDS = [
  {
    kind: "images",
    model: "paint",
    ask: (seeded: Seeded) =>
      post("/v1/images/generations", seeded, JSON.stringify({ model: "paint", prompt: "a sea" }), true),
    good: ((_, response) => sendJson(response, 200, IMAGES)) satisfies Script,
    cost: IMAGE_PRICES[1],
  },
  {
    kind: "edits of images",
    model: "retouch",
    ask: (seeded: Seeded) => post("/v1/images/edits", seeded, formOf("retouch", "image", Buffer.from("x"))),
    good: ((_, response) => sendJson(response, 200, IMAGES)) satisfies Script,
    cost: IMAGE_PRICES[1],
  },
  {
    kind: "transcriptions",
    model: "hear",
    ask: (seeded: Seeded) => post("/v1/audio/transcriptions", seeded, formOf("hear", "file", wav)),
    good: ((_, response) => sendJson(response, 200, { text: "the sea" })) satisfies Script,
    cost: SECOND_PRICES[1],
  },
] as const;

describe.each(KINDS)("$kind", ({ model, ask, good, cost }) => {
  test.each([
    ["fails", down],
    ["breaks off", reset],
    ["returns an empty answer", empty],
  ])(
    "are answered by the second provider when the first one %s, under one hold and for one charge",
    async (_what, bad) => {
      const { app, seed } = router();
      set(model, bad, good);
      const before = callsOf(model);
      const seeded = await seed(1_000n);
      const reply = await ask(seeded);
      expect(reply.status).toBe(200);
      const request = await requestOf(seeded);
      expect(request).toMatchObject({ status: "completed", cost: { total: cost } });
      expect(request.routing?.attempts.map(({ outcome }) => outcome)).toEqual(["failed", "answered"]);
      expect(request.provider).toBe(request.routing?.attempts[1]?.provider);
      expect(callsOf(model)).toEqual(before.map((count) => count + 1));
      await requireAvailable(app, seeded, { available: 1_000n - cost });
    },
  );

  test("cost nothing when both providers fail", async () => {
    const { app, seed } = router();
    set(model, empty, empty);
    const seeded = await seed(1_000n);
    expect((await ask(seeded)).status).toBe(502);
    await requireAvailable(app, seeded, { available: 1_000n });
  });
});

test("a provider whose circuit is open is the last resort: it answers what no other one does", async () => {
  const { app, scripted, seed, chat } = router();
  const seeded = await seed();
  const ask = () => chat(seeded, { model: SHUT, max_tokens: 20 });
  set(SHUT, down);
  for (let n = 0; n < 3; n++) expect((await ask()).status).toBe(200);
  const [offer] = app.catalogue.model(SHUT)?.providers ?? [];
  if (!offer) throw new Error("there is a first provider");
  // It may be probed after a pause, on a slow machine before the next line.
  expect(app.health.of(offer).circuit).not.toBe("closed");
  const asked = scripted[0]?.callsOf(SHUT).length ?? 0;
  const well: Script = (_, response) => sendJson(response, 200, completion());
  set(SHUT, well, down);
  expect((await ask()).status).toBe(200);
  expect(scripted[0]?.callsOf(SHUT)).toHaveLength(asked + 1);
});

test("one of four concurrent requests probes a half-open provider; the others are answered meanwhile", async () => {
  const { app, scripted, seed, chat } = router();
  const [first] = scripted;
  const seeded = await seed();
  const ask = () => chat(seeded, { model: PROBED, max_tokens: 20 });
  set(PROBED, down);
  for (let n = 0; n < 3; n++) expect((await ask()).status).toBe(200);
  const [offer] = app.catalogue.model(PROBED)?.providers ?? [];
  if (!first || !offer) throw new Error("there is a first provider");
  await until(() => app.health.of(offer).circuit === "half-open");
  const probe = Promise.withResolvers<void>();
  set(PROBED, async (_, response) => {
    await probe.promise;
    sendJson(response, 200, completion());
  });
  const asked = first.callsOf(PROBED).length;
  let answered = 0;
  const replies = Array.from({ length: 4 }, async () => {
    const reply = await ask();
    answered++;
    return reply;
  });
  // All have chosen a provider before the probe ends: one that chooses later finds a closed circuit.
  await until(() => answered === 3);
  await until(() => first.callsOf(PROBED).length > asked);
  expect(app.health.of(offer).circuit).toBe("open");
  probe.resolve();
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(first.callsOf(PROBED).length).toBe(asked + 1);
  expect(app.health.of(offer).circuit).toBe("closed");
});

describe("a provider that repeats our credential, which matches no known pattern,", () => {
  const spellings = [ODD_KEY, JSON.stringify(ODD_KEY).slice(1, -1)];
  /** The whole `Authorization` header as sent, with its scheme. */
  const sent = (authorization: string | undefined) => authorization ?? "";

  const SCRIPTS: Readonly<Record<(typeof ECHOES)[number], Script>> = {
    "echo-plain": ({ headers }, response) => {
      const content = `you are ${sent(headers.authorization)}, I think`;
      const message = { role: "assistant", content };
      sendJson(response, 200, completion({ choices: [{ index: 0, message, finish_reason: "stop" }] }), {
        "zg-res-key": ODD_KEY.replaceAll(" ", ""),
        "x-echo": sent(headers.authorization),
      });
    },
    "echo-stream": async ({ headers }, response) => {
      openStream(response);
      const events = [
        event({ delta: { role: "assistant", content: "" } }),
        event({ delta: { content: `you are ${sent(headers.authorization)}, I think` } }),
        FINISH,
        event(undefined, { usage: USAGE }),
        DONE,
      ];
      const bytes = Buffer.from(events.join(""));
      for (let at = 0; at < bytes.length; at += 11) await trickle(response, [bytes.subarray(at, at + 11)]);
      response.end();
    },
    "echo-blame": ({ headers }, response) =>
      sendJson(response, 400, { error: { message: `no: ${sent(headers.authorization)}, says the sea` } }),
    "echo-code": ({ headers }, response) =>
      sendJson(response, 500, { error: { message: "no", code: sent(headers.authorization).slice(7) } }),
    "echo-down": ({ headers }, response) =>
      void response.writeHead(503, { "content-type": "text/plain" }).end(sent(headers.authorization)),
  };

  test.each(ECHOES)("%s: neither the client nor the log shows it", async (model) => {
    const { scripted, seed, chat, logged } = router();
    const script = SCRIPTS[model];
    set(model, script, script);
    const seeded = await seed();
    const reply = await chat(seeded, { model, max_tokens: 50, stream: model === "echo-stream" });
    const shown = `${JSON.stringify([...reply.headers])}${await reply.text()}`;
    expect(scripted[0]?.callsOf(model)[0]?.headers.authorization).toBe(`Bearer ${ODD_KEY}`);
    for (const spelling of [...spellings, ODD_KEY.replaceAll(" ", "")]) {
      expect(shown).not.toContain(spelling);
      expect(logged()).not.toContain(spelling);
    }
    // The text around it is passed on unchanged.
    if (model === "echo-plain" || model === "echo-stream")
      expect(shown).toMatch(/you are Bearer \*+, I think/);
    if (model === "echo-blame") expect(shown).toMatch(/no: Bearer \*+, says the sea/);
  });
});

test("in the end the ledger is consistent and no hold is open", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});

describe("a whole answer with fewer choices than were requested", () => {
  const some =
    (n: number): Script =>
    (_, response) => {
      const choices = Array.from({ length: n }, (_, index) => ({
        ...{ index, finish_reason: "stop" },
        message: { role: "assistant", content: "a" },
      }));
      sendJson(response, 200, completion({ choices }));
    };

  test("is a failure of its provider: the next one answers, and only that one is paid", async () => {
    set("fewer-once", some(2), some(3));
    const seeded = await router().seed();
    const reply = await router().chat(seeded, { model: "fewer-once", n: 3, max_tokens: 50 });
    const { choices } = (await reply.json()) as { choices: unknown[] };
    expect([reply.status, choices.length, callsOf("fewer-once")]).toEqual([200, 3, [1, 1]]);
    const { status, cost, routing } = await requestOf(seeded);
    expect(status).toBe("completed");
    expect(cost?.total).toBe(
      BigInt(USAGE.prompt_tokens) * PRICES[1].prompt + BigInt(USAGE.completion_tokens) * PRICES[1].completion,
    );
    expect(routing?.attempts.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ["failed", "malformed"],
      ["answered", undefined],
    ]);
  });

  test("is 502 when no provider returns all of them, and costs nothing", async () => {
    set("fewer-always", some(1), some(1));
    const seeded = await router().seed();
    const reply = await router().chat(seeded, { model: "fewer-always", n: 2, max_tokens: 50 });
    const { error } = (await reply.json()) as { error: { code: string } };
    expect([reply.status, error.code, reply.headers.get("x-should-retry")]).toEqual([
      502,
      "provider_error",
      "true",
    ]);
    expect((await requestOf(seeded)).cost?.total).toBe(0n);
    await requireAvailable(router().app, seeded, { available: 10_000_000n });
  });
});
