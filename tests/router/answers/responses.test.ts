// @module-tag large
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { countPromptTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { formatToken } from "../../../src/kernel/text/amount.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { balanceAtRest } from "../../support/balance.ts";
import {
  breakOff,
  completion,
  DONE,
  event,
  FINISH,
  openStream,
  ROLE,
  type Script,
  sendJson,
  TEXT,
  trickle,
  USAGE,
  WORDS,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

type Fields = Readonly<Record<string, unknown>>;
type Event = Fields & { readonly type: string; readonly sequence_number: number; readonly response?: Fields };

const MODELS = [
  "good",
  "breaks",
  "resumes",
  "starts",
  "fails",
  "left",
  "refuses",
  "large",
  "long",
  "parts",
] as const;
const router = await useRouter({ models: MODELS, settings: { RESUME_STREAMS: "on" } });
const INPUT = "What is the sea?";
const PROMPT = countPromptTokens([{ role: "user", content: INPUT }]);
const START = 10_000_000n;
const [CHEAP, OTHER] = PRICES;
const says = (content: string) => event({ delta: { content } });
const costOf = ({ prompt, completion }: { prompt: bigint; completion: bigint }) =>
  BigInt(USAGE.prompt_tokens) * prompt + BigInt(USAGE.completion_tokens) * completion;

function post(seeded: Seeded, body: object | string, options: RequestInit = {}): Promise<Response> {
  const { secret } = seeded;
  return fetch(`${router().origin}/v1/responses`, {
    ...options,
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${secret}`,
      ...(options.headers as Record<string, string>),
    },
    body: typeof body === "string" ? body : JSON.stringify({ input: INPUT, ...body }),
  });
}

function set(model: (typeof MODELS)[number], ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

function eventsOf(text: string): readonly Event[] {
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? "") as Event);
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
  return events;
}

const textOf = (events: readonly Event[]) =>
  events.map(({ type, delta }) => (type === "response.output_text.delta" ? delta : "")).join("");

/** The only request of an account, ended, after checking that its ledger is consistent. */
async function requestOf({ account }: Seeded): Promise<InferenceRequest> {
  const { app } = router();
  const request = await until(async () => {
    const { rows } = await app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(1);
    return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
  });
  const balance = await balanceAtRest(app, account);
  expect(balance).toMatchObject({ held: 0n, total: START - (request.cost?.total ?? 0n) });
  return request;
}

describe("what a response costs", () => {
  test.each([false, true])("whole, with stream %s: what the provider reports", async (stream) => {
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "good", stream })).text();
    const response = (stream ? eventsOf(text).at(-1)?.response : JSON.parse(text)) as Fields;
    expect(response).toMatchObject({
      status: "completed",
      output: [{ type: "message", content: [{ text: TEXT }] }],
      usage: {
        ...{ input_tokens: 9, output_tokens: 8, total_tokens: 17 },
        cost: Number(formatToken(costOf(CHEAP))),
      },
      x_0g_trace: { billing: { total_cost: String(costOf(CHEAP)) } },
    });
    expect(await requestOf(seeded)).toMatchObject({ status: "completed", cost: { total: costOf(CHEAP) } });
    expect(text.endsWith(DONE)).toBe(stream);
  });

  test("broken off: what was delivered, and the stream says that it failed", async () => {
    const cut: Script = async (_, response) => {
      openStream(response);
      await trickle(response, [ROLE, ...WORDS.slice(0, 3).map(says)]);
      await breakOff(response);
    };
    set("breaks", cut, (_, response) => sendJson(response, 400, { error: { message: "no" } }));
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "breaks", stream: true })).text();
    const events = eventsOf(text);
    const delivered = WORDS.slice(0, 3).join("");
    expect(textOf(events)).toBe(delivered);
    expect(events.slice(-2)).toMatchObject([
      { type: "error", code: "upstream_error", error: { type: "api_error", code: "upstream_error" } },
      {
        type: "response.failed",
        response: {
          status: "failed",
          error: { code: "upstream_error" },
          output: [{ status: "incomplete", content: [{ text: delivered }] }],
        },
      },
    ]);
    expect(text).not.toContain("[DONE]");
    const total = BigInt(PROMPT) * CHEAP.prompt + BigInt(countTokens(delivered)) * CHEAP.completion;
    expect(await requestOf(seeded)).toMatchObject({ status: "failed", cost: { total } });
  });

  test("left by its client: what was delivered", async () => {
    set("left", async (_, response) => {
      openStream(response);
      await trickle(response, [ROLE, ...WORDS.slice(0, 2).map(says)]);
    });
    const seeded = await router().seed();
    const leaving = new AbortController();
    const reply = await post(seeded, { model: "left", stream: true }, { signal: leaving.signal });
    const reader = reply.body?.getReader();
    let text = "";
    while (!text.includes(`"delta":"${WORDS[1]}"`)) {
      const { value } = (await reader?.read()) ?? {};
      text += Buffer.from(value ?? []).toString();
    }
    leaving.abort();
    const delivered = WORDS.slice(0, 2).join("");
    const total = BigInt(PROMPT) * CHEAP.prompt + BigInt(countTokens(delivered)) * CHEAP.completion;
    expect(await requestOf(seeded)).toMatchObject({ status: "aborted", cost: { total } });
  });

  test.each([false, true])("failed by every provider, with stream %s: nothing", async (stream) => {
    const down: Script = (_, response) => sendJson(response, 500, { error: { message: "down" } });
    set("fails", down, down);
    const seeded = await router().seed();
    const reply = await post(seeded, { model: "fails", stream });
    expect([reply.status, await reply.json()]).toMatchObject([502, { error: { code: "provider_error" } }]);
    expect(await requestOf(seeded)).toMatchObject({ status: "failed", cost: { total: 0n } });
  });
});

describe("content as a list of parts", () => {
  const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] };
  const image = { type: "image_url", image_url: { url: "https://a.example/b.png" } };
  const answers =
    (parts: readonly object[], fields: object = { usage: undefined }): Script =>
    ({ body }, response) => {
      const choice = { index: 0, finish_reason: "stop" };
      if (!body.stream)
        return sendJson(
          response,
          200,
          completion({ choices: [{ ...choice, message: { role: "assistant", content: parts } }], ...fields }),
        );
      const deltas = parts.map((part) => event({ delta: { content: [part] } }));
      openStream(response).end([ROLE, ...deltas, FINISH, DONE].join(""));
    };
  const outputOf = async (reply: Response, stream: boolean) => {
    const shown = stream ? eventsOf(await reply.text()).at(-1)?.response : await reply.json();
    return (shown as { readonly output: readonly { readonly content: readonly Fields[] }[] }).output.map(
      ({ content }) => content.map(({ text }) => text).join(""),
    );
  };

  test.each([false, true])(
    "is delivered and counted as the text that it has, with stream %s",
    async (stream) => {
      const seeded = await router().seed(START);
      set("parts", answers([thought, { type: "text", text: "The " }, { type: "text", text: TEXT }]));
      expect(await outputOf(await post(seeded, { model: "parts", stream }), stream)).toEqual([
        "Hm.",
        `The ${TEXT}`,
      ]);
      expect(await requestOf(seeded)).toMatchObject({
        status: "completed",
        outputTokens: countTokens("Hm.") + countTokens(`The ${TEXT}`),
      });
    },
  );

  test.each([false, true])(
    "that a response cannot have fails its provider, with stream %s",
    async (stream) => {
      const seeded = await router().seed(START);
      set("parts", answers([image]), answers([{ type: "text", text: TEXT }]));
      expect(await outputOf(await post(seeded, { model: "parts", stream }), stream)).toEqual([TEXT]);
      expect((await requestOf(seeded)).outputTokens).toBe(countTokens(TEXT));
    },
  );

  test.each([false, true])("that no provider has in text costs nothing, with stream %s", async (stream) => {
    const seeded = await router().seed(START);
    set("parts", answers([image]), answers([image]));
    expect((await post(seeded, { model: "parts", stream })).status).toBe(502);
    expect(await requestOf(seeded)).toMatchObject({ status: "failed", cost: { total: 0n } });
  });

  test("that a thread translates fails its provider too", async () => {
    const seeded = await router().seed(START);
    set(
      "parts",
      answers([{ type: "text", text: "a".repeat(400_000) }, image]),
      answers([{ type: "text", text: TEXT }]),
    );
    expect(await outputOf(await post(seeded, { model: "parts" }), false)).toEqual([TEXT]);
  });
});

test("another provider answers before the first content, and the stream begins once", async () => {
  const dies: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [ROLE]);
    await breakOff(response);
  };
  set("starts", dies);
  const seeded = await router().seed();
  const events = eventsOf(await (await post(seeded, { model: "starts", stream: true })).text());
  expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  expect(textOf(events)).toBe(TEXT);
  expect((await requestOf(seeded)).cost?.total).toBe(costOf(OTHER));
});

test("another provider that says the same resumes the same item", async () => {
  const cut: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [
      ROLE,
      event({ delta: { reasoning_content: "Hm." } }),
      ...WORDS.slice(0, 5).map(says),
    ]);
    await breakOff(response);
  };
  const whole: Script = (_, response) => {
    const thought = event({ delta: { reasoning_content: "Hm." } });
    const pieces = [TEXT.slice(0, 4), TEXT.slice(4, 20), TEXT.slice(20)].map(says);
    const usage = event(undefined, { usage: USAGE });
    openStream(response).end([ROLE, thought, ...pieces, FINISH, usage, DONE].join(""));
  };
  set("resumes", cut, whole);
  const seeded = await router().seed();
  const events = eventsOf(await (await post(seeded, { model: "resumes", stream: true })).text());
  expect(textOf(events)).toBe(TEXT);
  expect(new Set(events.flatMap(({ item_id: id }) => id ?? [])).size).toBe(2);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { output: [{ type: "reasoning" }, { content: [{ text: TEXT }] }] },
  });
  expect(await requestOf(seeded)).toMatchObject({ status: "completed", cost: { total: costOf(OTHER) } });
});

test.each([false, true])(
  "is repeated for its Idempotency-Key, with stream %s, and charged once",
  async (stream) => {
    const seeded = await router().seed();
    const key = { headers: { "idempotency-key": randomUUID() } };
    const body = { model: "good", stream };
    const first = await (await post(seeded, body, key)).text();
    // The first call still counts as running while its answer is stored.
    const again = await until(async () => {
      const reply = await post(seeded, body, key);
      return reply.status !== 409 && reply;
    });
    expect(await again.text()).toBe(first);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await requestOf(seeded)).cost?.total).toBe(costOf(CHEAP));
    const other = await post(seeded, { ...body, instructions: "b" }, key);
    expect(other.status).toBe(422);
  },
);

test("a provider's reason to refuse is the client's, and nothing is charged", async () => {
  const error = {
    message: "This model has no tools.",
    type: "invalid_request_error",
    code: null,
    param: null,
  };
  set("refuses", (_, response) => sendJson(response, 400, { error }));
  const seeded = await router().seed();
  const reply = await post(seeded, { model: "refuses", tools: [{ type: "function", name: "f" }] });
  expect([reply.status, await reply.json()]).toMatchObject([
    400,
    { error: { code: "invalid_body", message: expect.stringContaining("no tools") } },
  ]);
  expect((await requestOf(seeded)).cost?.total).toBe(0n);
});

/** As in large-prompts.test.ts: the client and the provider are on the same thread. */
const MAX_TURN_MS = 500;

test("an image of 30 MiB is translated in short turns", async () => {
  const image = `data:image/png;base64,${"A".repeat(30 * 1_048_576)}`;
  const content = [
    { type: "input_text", text: INPUT },
    { type: "input_image", image_url: image },
  ];
  const body = JSON.stringify({ model: "large", input: [{ role: "user", content }] });
  const seeded = await router().seed(10n ** 18n);
  const statuses: number[] = [];
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    statuses.push((await post(seeded, body)).status);
  });
  expect(statuses).toEqual(statuses.map(() => 200));
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  const sent = router().scripted[0]?.calls.at(-1)?.bytes.toString() ?? "";
  expect(JSON.parse(sent).messages[0].content[1]).toEqual({ type: "image_url", image_url: { url: image } });
});

test("an answer too large for the event loop is translated whole", async () => {
  const content = 'é "quoted" '.repeat(1_000_000);
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  const answer = JSON.stringify(completion({ choices }));
  set("long", (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  const seeded = await router().seed(10n ** 18n);
  let text = "";
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    text = await (await post(seeded, { model: "long" })).text();
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  expect(JSON.parse(text)).toMatchObject({ output: [{ content: [{ text: content }] }], x_0g_trace: {} });
});
