import { describe, expect, test } from "vitest";
import { nativeEvents, nativeResponse } from "../../support/inference/native-responses.ts";
import {
  completion,
  DONE,
  event,
  openStream,
  type Script,
  sendJson,
  USAGE,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What coding tools send and get back: tools in namespaces, and conversations that their provider compacts. */
const router = await useRouter({
  models: ["chats"],
  more: (n) => {
    const { prompt, completion } = PRICES[n] ?? PRICES[0];
    const pricing = { prompt: `${prompt}`, completion: `${completion}` };
    const both = { supported_formats: ["openai", "responses"], pricing };
    return [
      { id: "native", ...both },
      { id: "moving", ...both },
    ];
  },
});

const NOTES = {
  type: "namespace",
  name: "mcp__notes",
  description: "Keeps notes.",
  tools: [
    {
      type: "function",
      name: "add",
      description: "Adds a note.",
      strict: false,
      parameters: { type: "object" },
    },
    { type: "function", name: "list", parameters: { type: "object" }, defer_loading: true },
  ],
};
const ADD = { type: "function", name: "add", parameters: { type: "object" } };
const input = [{ role: "user", content: "Note this." }];

async function ask({ secret }: Seeded, body: object) {
  const reply = await fetch(`${router().origin}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ input, ...body }),
  });
  return { status: reply.status, text: await reply.text() };
}

function set(model: string, ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

/** The response in an answer, whole or streamed. */
function responseIn(text: string): Fields {
  if (text.startsWith("{")) return JSON.parse(text);
  const [, data = "{}"] = /^data: (\{"type":"response.completed.*)$/m.exec(text) ?? [];
  return JSON.parse(data).response;
}

const sentTo = (n: number, model: string): Fields => router().scripted[n]?.callsOf(model).at(-1)?.body ?? {};
const callsTo = (n: number, model: string) => router().scripted[n]?.callsOf(model).length;

/** Calls the function of this name, and answers once that has a result. */
const calling =
  (name: string): Script =>
  (call, response) => {
    const messages = call.body.messages as readonly Fields[];
    const isAnswered = messages.at(-1)?.role === "tool";
    const said = isAnswered
      ? { role: "assistant", content: "Noted." }
      : {
          role: "assistant",
          content: null,
          tool_calls: [{ index: 0, id: "c1", type: "function", function: { name } }],
        };
    const finish_reason = isAnswered ? "stop" : "tool_calls";
    if (!call.body.stream)
      return sendJson(response, 200, completion({ choices: [{ index: 0, message: said, finish_reason }] }));
    const end = event({ delta: {}, finish_reason });
    openStream(response).end(
      [event({ delta: said }), end, event(undefined, { usage: USAGE }), DONE].join(""),
    );
  };

describe("functions in namespaces", () => {
  test.each([false, true])("are called at a provider of chats, with stream %s", async (stream) => {
    set("chats", calling("mcp__notes__add"));
    const seeded = await router().seed();
    const body = { model: "chats", stream, tools: [ADD, NOTES] };
    const first = await ask(seeded, body);
    expect(first.status, first.text).toBe(200);
    const { output } = responseIn(first.text) as { readonly output: readonly Fields[] };
    expect(output).toMatchObject([
      { type: "function_call", namespace: "mcp__notes", name: "add", call_id: "c1", arguments: "{}" },
    ]);
    expect(sentTo(0, "chats").tools).toEqual([
      { type: "function", function: { name: "add", parameters: ADD.parameters } },
      {
        type: "function",
        function: {
          ...{ name: "mcp__notes__add", description: "Keeps notes.\n\nAdds a note." },
          ...{ parameters: { type: "object" }, strict: false },
        },
      },
      { type: "function", function: { name: "mcp__notes__list", parameters: { type: "object" } } },
    ]);
    const result = { type: "function_call_output", call_id: "c1", output: "done" };
    const second = await ask(seeded, { ...body, input: [...input, ...output, result] });
    expect(responseIn(second.text)).toMatchObject({ output: [{ content: [{ text: "Noted." }] }] });
    expect(sentTo(0, "chats").messages).toMatchObject([
      {},
      { tool_calls: [{ id: "c1", function: { name: "mcp__notes__add", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c1" },
    ]);
  });

  test("arrive unchanged at a provider that has the format, with a search of the client", async () => {
    const tools = [
      NOTES,
      { type: "tool_search", execution: "client", description: "Searches.", parameters: {} },
    ];
    const call = {
      type: "tool_search_call",
      execution: "client",
      call_id: "s1",
      arguments: { query: "notes" },
    };
    const found = { type: "tool_search_output", execution: "client", call_id: "s1", tools: [NOTES] };
    const called = {
      type: "function_call",
      namespace: "mcp__notes",
      name: "list",
      call_id: "c2",
      arguments: "{}",
    };
    const result = { type: "function_call_output", call_id: "c2", output: "none" };
    set("native", (_, response) => sendJson(response, 200, nativeResponse({ output: [called] })));
    const items = [...input, call, found, called, result];
    const { status, text } = await ask(await router().seed(), { model: "native", tools, input: items });
    expect(status, text).toBe(200);
    expect(sentTo(0, "native")).toMatchObject({ tools, input: items });
    expect(responseIn(text)).toMatchObject({ output: [called] });
  });
});

describe("a conversation that its provider compacts", () => {
  const management = [{ type: "compaction", compact_threshold: 1_000 }];
  const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "c2VjcmV0" };
  const compacting: Script = (call, response) => {
    const fields = {
      output: [compaction, ...(nativeResponse() as { readonly output: readonly object[] }).output],
    };
    if (!call.body.stream) return sendJson(response, 200, nativeResponse(fields));
    openStream(response).end(nativeEvents(fields).join(""));
  };
  const down: Script = (_, response) => sendJson(response, 503, { error: { message: "down" } });

  test("continues with the item that it returned", async () => {
    set("native", compacting);
    const seeded = await router().seed();
    const body = { model: "native", context_management: management };
    const { output } = responseIn((await ask(seeded, body)).text) as { readonly output: readonly object[] };
    expect(output[0]).toEqual(compaction);
    const { status, text } = await ask(seeded, { ...body, input: [...output, ...input] });
    expect(status, text).toBe(200);
    expect(sentTo(0, "native")).toMatchObject({
      context_management: management,
      input: [...output, ...input],
    });
  });

  test("goes on at the provider that compacted it, though a cheaper one is back", async () => {
    set("moving", down, compacting);
    const seeded = await router().seed();
    const body = { model: "moving", context_management: management, prompt_cache_key: "conversation" };
    expect((await ask(seeded, body)).status).toBe(200);
    set("moving", compacting, compacting);
    await until(async () => {
      const before = callsTo(0, "moving") ?? 0;
      await ask(seeded, { model: "moving" });
      return callsTo(0, "moving") === before + 1;
    });
    const [cheap, author] = [callsTo(0, "moving"), callsTo(1, "moving")];
    const { status } = await ask(seeded, { ...body, input: [compaction, ...input] });
    expect([status, callsTo(0, "moving"), callsTo(1, "moving")]).toEqual([200, cheap, (author ?? 0) + 1]);
  });

  test("is refused by the type of the item where no provider has the format", async () => {
    const { status, text } = await ask(await router().seed(), {
      model: "chats",
      input: [...input, compaction],
    });
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      {
        error: {
          ...{ code: "invalid_body", param: "input.1.type" },
          message: expect.stringContaining("items of type compaction are not supported"),
        },
      },
    ]);
  });

  test("is not sent to a provider of chats, which would refuse fields that it does not know", async () => {
    set("chats", (_, response) => sendJson(response, 200, completion()));
    const own = { context_management: management, client_metadata: { turn_id: "1" } };
    const { status } = await ask(await router().seed(), { model: "chats", ...own });
    expect(status).toBe(200);
    expect(Object.keys(sentTo(0, "chats")).toSorted()).toEqual(["max_tokens", "messages", "model"]);
  });
});
