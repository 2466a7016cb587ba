// @module-tag large
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import {
  breakOff,
  completion,
  DONE,
  event,
  openStream,
  type Script,
  sendJson,
  trickle,
  USAGE,
  USAGE_CHUNK,
} from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";

const CUTS = ["closed", "reset", "done"] as const;
const USAGES = ["finish", "every", "null", "both", "none"] as const;
const NAMED = { id: "named", upstream_id: "theirs", pricing: { prompt: "2", completion: "3" } };
const router = await useRouter({
  more: () => [{ ...NAMED, supported_formats: ["openai", "anthropic"] }],
  models: [...CUTS, ...USAGES, "late", "thinks", "thinks-long"],
  count: 1,
  settings: { RESUME_STREAMS: "off" },
});

const piece = (index: number, content: string) => event({ index, delta: { content } });
const finish = (index: number, fields = {}) => event({ index, delta: {}, finish_reason: "stop" }, fields);

async function ask(model: string, script: Script, body: object = {}): Promise<string> {
  router().scripted[0]?.scripts.set(model, script);
  const reply = await router().chat(await router().seed(), { model, max_tokens: 50, stream: true, ...body });
  expect(reply.status).toBe(200);
  return reply.text();
}

const ENDS: Readonly<Record<(typeof CUTS)[number], (response: Parameters<Script>[1]) => unknown>> = {
  closed: (response) => response.end(),
  reset: breakOff,
  done: (response) => response.end(DONE),
};

test.each(CUTS)(
  "a stream that is %s after one of two choices fails, and is not presented as complete",
  async (model) => {
    const script: Script = async (_, response) => {
      openStream(response);
      await trickle(response, [piece(0, "a"), finish(0)]);
      await ENDS[model](response);
    };
    const text = await ask(model, script, { n: 2 });
    expect(text).toMatch(/data: \{"error":\{.*"code":"upstream_error".*\}\n\n$/);
    expect(text).not.toContain(DONE);
  },
);

test("a second choice that begins late is waited for", async () => {
  const script: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [piece(0, "a"), finish(0), USAGE_CHUNK]);
    await new Promise((done) => setTimeout(done, 1_000));
    response.end(piece(1, "b") + finish(1) + USAGE_CHUNK + DONE);
  };
  const text = await ask("late", script, { n: 2 });
  expect(text).toContain('"b"');
  expect(text.endsWith(DONE)).toBe(true);
});

test("a choice beyond the requested ones is passed on and not waited for", async () => {
  const script: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [piece(0, "a"), piece(7, "more"), piece(1, "b"), finish(0), finish(1)]);
    response.end(USAGE_CHUNK + DONE);
  };
  const text = await ask("late", script, { n: 2 });
  expect(text).toContain('"more"');
  expect(text).not.toContain("upstream_error");
  expect(text.endsWith(DONE)).toBe(true);
});

const usage = { usage: USAGE };
const STREAMS: Readonly<Record<(typeof USAGES)[number], readonly string[]>> = {
  finish: [piece(0, "a"), finish(0, usage)],
  every: [
    event({ delta: { role: "assistant", content: "" } }, usage),
    event({ delta: { content: "a" } }, usage),
    finish(0, usage),
    USAGE_CHUNK,
  ],
  null: [event({ delta: { content: "a" } }, { usage: null }), finish(0, { usage: null }), USAGE_CHUNK],
  both: [piece(0, "a"), finish(0, usage), USAGE_CHUNK, USAGE_CHUNK],
  none: [piece(0, "a"), finish(0)],
};

test.each(USAGES.flatMap((model) => [true, false].map((isRequested) => ({ model, isRequested }))))(
  "usage reported as $model, requested: $isRequested: the client receives one usage if it requested it, else none",
  async ({ model, isRequested }) => {
    const script: Script = (_, response) => void openStream(response).end(STREAMS[model].join("") + DONE);
    const options = isRequested ? { stream_options: { include_usage: true } } : {};
    const text = await ask(model, script, options);
    const chunks = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""));
    const stated = chunks.filter((chunk) => chunk.usage);
    expect(stated).toHaveLength(isRequested ? 1 : 0);
    if (isRequested) {
      expect(chunks.at(-1)).toBe(stated[0]);
      expect(stated[0].choices).toEqual([]);
      if (model !== "none") expect(stated[0].usage).toMatchObject(USAGE);
    }
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe("a");
  },
);

test("reasoning is shown under both names, in a stream and in a whole answer", async () => {
  const stream: Script = (_, response) =>
    void openStream(response).end(
      event({ delta: { reasoning: "why" } }) + piece(0, "a") + finish(0, usage) + DONE,
    );
  const text = await ask("thinks", stream);
  expect(text).toContain('"delta":{"reasoning":"why","reasoning_content":"why"}');
  const message = { role: "assistant", content: "a", reasoning: "why" };
  router().scripted[0]?.scripts.set("thinks", (_, response) =>
    sendJson(response, 200, completion({ choices: [{ index: 0, message, finish_reason: "stop" }] })),
  );
  const reply = await router().chat(await router().seed(), { model: "thinks", max_tokens: 5 });
  const { choices, x_0g_trace: trace } = (await reply.json()) as {
    choices: [{ message: object }];
    x_0g_trace: object;
  };
  expect(choices[0].message).toMatchObject({ reasoning: "why", reasoning_content: "why" });
  expect(trace).toBeDefined();
});

test("a whole answer too large for the event loop shows its reasoning under both names", async () => {
  const why = `"why" \\ ${"thought, ".repeat(60_000)}`;
  const choices = [
    { index: 0, message: { role: "assistant", content: "a", reasoning: why }, finish_reason: "stop" },
    { index: 1, message: { content: "b", reasoning: "b", reasoning_content: null }, finish_reason: "stop" },
    { index: 2, message: { content: "c", reasoning: "c", reasoning_content: "own" }, finish_reason: "stop" },
    { index: 3, message: { content: '"reasoning":"none"' }, finish_reason: "stop" },
  ];
  const seed = 12345678901234567890n;
  router().scripted[0]?.scripts.set("thinks-long", (_, response) => {
    const text = JSON.stringify(completion({ choices })).replace(/^\{/, `{"seed":${seed},`);
    response.writeHead(200, { "content-type": "application/json" }).end(text);
  });
  const reply = await router().chat(await router().seed(), {
    model: "thinks-long",
    n: 4,
    max_tokens: 500_000,
  });
  const text = await reply.text();
  expect(text).toContain(`"seed":${seed},`);
  const shown = JSON.parse(text) as { choices: typeof choices; x_0g_trace: object };
  expect(shown.choices.map(({ message }) => message)).toEqual([
    { role: "assistant", content: "a", reasoning: why, reasoning_content: why },
    { content: "b", reasoning: "b", reasoning_content: "b" },
    { content: "c", reasoning: "c", reasoning_content: "own" },
    { content: '"reasoning":"none"' },
  ]);
  expect(shown.x_0g_trace).toBeDefined();
});

test.each(["/v1/chat/completions", "/v1/messages"])(
  "answers of %s name the model as the client does, streamed and whole",
  async (path) => {
    const { origin, seed, scripted } = router();
    const { secret } = await seed();
    const line = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    const anthropic = { id: "msg_1", type: "message", role: "assistant", model: "theirs" };
    const whole = {
      ...anthropic,
      content: [{ type: "text", text: "a" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 9, output_tokens: 1 },
    };
    const started = { ...anthropic, content: [], usage: { input_tokens: 9, output_tokens: 1 } };
    const messageEvents = [
      { type: "message_start", message: started },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    const theirs = { model: "theirs" };
    const chatEvents = [
      event({ delta: { content: "a" } }, theirs),
      event({ delta: {}, finish_reason: "stop" }, theirs),
      event(undefined, { ...theirs, ...usage }),
      DONE,
    ];
    scripted[0]?.scripts.set("theirs", (call, response) => {
      const isChat = call.path.endsWith("/chat/completions");
      if (!call.body.stream) sendJson(response, 200, isChat ? completion(theirs) : whole);
      else openStream(response).end((isChat ? chatEvents : messageEvents.map(line)).join(""));
    });
    for (const stream of [false, true]) {
      const isChat = path.endsWith("/chat/completions");
      const reply = await fetch(`${origin}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        body: JSON.stringify({
          model: "named",
          max_tokens: 5,
          stream,
          messages: [{ role: "user", content: "hi" }],
          ...(stream && isChat && { stream_options: { include_usage: true } }),
        }),
      });
      const text = await reply.text();
      expect([reply.status, text.includes('"model":"named"'), text.includes("theirs")]).toEqual([
        200,
        true,
        false,
      ]);
    }
  },
);

test.each(["plugins", "attachments", "_e2ee"])("the field %s is refused, and not dropped", async (field) => {
  const { origin, seed, chat } = router();
  const seeded = await seed();
  const reply = await chat(seeded, { model: "finish", [field]: [{ id: "web" }] });
  const { error } = (await reply.json()) as { error: object };
  expect([reply.status, error]).toEqual([
    400,
    expect.objectContaining({ code: "invalid_body", param: field }),
  ]);
  const message = await fetch(`${origin}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({
      model: "named",
      max_tokens: 5,
      messages: [{ role: "user", content: "hi" }],
      [field]: {},
    }),
  });
  const { error: shown } = (await message.json()) as { error: object };
  expect([message.status, shown]).toEqual([400, expect.objectContaining({ code: "invalid_body" })]);
});

test("in the end the ledger is consistent and no hold is open", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
