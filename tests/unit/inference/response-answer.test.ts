import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { responseOfChat } from "../../../src/inference/responses/response-answer.ts";
import { ResponseStream } from "../../../src/inference/responses/response-stream.ts";
import { saidBy } from "../../../src/inference/responses/said.ts";

type Fields = Readonly<Record<string, unknown>>;
type Event = Fields & { readonly type: string; readonly sequence_number: number };

const head = {
  id: "resp_1",
  model: "m",
  createdAt: 1,
  hasSummary: false,
  functions: new Map(),
  repeated: '{"store":false}',
};
const usage = { inputTokens: 3, outputTokens: 5, cache: { read: 2, write: 0, write1h: 0 } };
const trace = {
  request_id: "r",
  provider: "p",
  billing: { input_cost: "1", output_cost: "1", total_cost: "2" },
};

function parsed(bytes: Buffer): readonly Event[] {
  return [...bytes.toString().matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, type, data]) => {
    const event = JSON.parse(data ?? "") as Event;
    expect(event.type).toBe(type);
    return event;
  });
}

/** All events of a stream of these deltas. */
function eventsOf(deltas: readonly Fields[], finishReason = "stop", hasSummary = false): readonly Event[] {
  const stream = new ResponseStream({ ...head, hasSummary });
  const parts = deltas.map((delta) => stream.take([saidBy({ delta })]));
  const end = { finishReason, completedAt: 2, usage: {}, trace };
  expect(stream.end(end).equals(stream.end(end))).toBe(true);
  return parsed(Buffer.concat([...parts, stream.end(end)]));
}

/** The output of the response of the last event. */
function outputOf(events: readonly Event[]): unknown {
  return (events.at(-1)?.response as Fields | undefined)?.output;
}

function wholeOf(message: Fields, finishReason = "stop"): Fields {
  const choices = [{ index: 0, message, finish_reason: finishReason }];
  const body = Buffer.from(
    JSON.stringify({ choices, usage: { completion_tokens_details: { reasoning_tokens: 4 } } }),
  );
  return JSON.parse(responseOfChat(body, { head, completedAt: 2, usage }).toString());
}

/** What a client that adds up the deltas of a stream has in the end; checks the order of the events. */
function replayed(events: readonly Event[]): readonly unknown[] {
  const items: { readonly item: Fields; text: string; state: "open" | "done" }[] = [];
  const open = new Set<string>();
  for (const event of events) {
    const { type, output_index: at } = event as Event & { readonly output_index: number };
    const part = `${at} ${event.content_index ?? event.summary_index}`;
    if (type === "response.output_item.added") {
      expect(at).toBe(items.length);
      items.push({ item: event.item as Fields, text: "", state: "open" });
    }
    const of = items[at];
    if (type.endsWith("part.added")) open.add(part);
    if (type.endsWith(".delta")) {
      expect(of?.state).toBe("open");
      if (!type.includes("arguments")) expect(open.has(part)).toBe(true);
      if (of) of.text += event.delta;
    }
    if (type.endsWith("part.done")) expect(open.delete(part)).toBe(true);
    if (type !== "response.output_item.done" || !of) continue;
    const item = event.item as Fields & { readonly content?: Fields[]; readonly summary?: Fields[] };
    const texts = [...(item.summary ?? []), ...(item.content ?? [])].map(
      ({ text, refusal }) => text ?? refusal,
    );
    expect(item.id).toBe(of.item.id);
    expect(item.arguments ?? texts.join("")).toBe(of.text);
    of.state = "done";
  }
  expect(items.every(({ state }) => state === "done") && open.size === 0).toBe(true);
  const ended = new Map(
    events
      .filter(({ type }) => type === "response.output_item.done")
      .map((event) => [event.output_index, event.item]),
  );
  return items.map((_, at) => ended.get(at));
}

describe("an answer becomes a response", () => {
  test("with reasoning, text and calls as items, and the billed usage", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    const response = wholeOf({ reasoning: "r", content: "t", tool_calls: [call] }, "tool_calls");
    expect(response).toEqual({
      id: "resp_1",
      object: "response",
      created_at: 1,
      completed_at: 2,
      status: "completed",
      error: null,
      incomplete_details: null,
      model: "m",
      output: [
        {
          id: "rs_1_0",
          type: "reasoning",
          status: "completed",
          summary: [],
          content: [{ type: "reasoning_text", text: "r" }],
        },
        {
          id: "msg_1_1",
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "t", annotations: [], logprobs: [] }],
        },
        {
          id: "fc_1_2",
          type: "function_call",
          status: "completed",
          call_id: "c",
          name: "f",
          arguments: '{"a":1}',
        },
      ],
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 8,
      },
      store: false,
    });
  });

  test.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ])("that ended by %s is incomplete: %s", (finishReason, reason) => {
    expect(wholeOf({ content: "t" }, finishReason)).toMatchObject({
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason },
      output: [{ status: "incomplete" }],
    });
    const last = eventsOf([{ content: "t" }], finishReason).at(-1);
    expect(last).toMatchObject({ type: "response.incomplete", response: { incomplete_details: { reason } } });
  });

  test("in events that name what they belong to", () => {
    const call = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] });
    const events = eventsOf([
      { role: "assistant", content: "" },
      { reasoning_content: "r" },
      { content: "t" },
      { refusal: "no" },
      call(0, { id: "a", function: { name: "f", arguments: "" } }),
      call(1, { id: "b", function: { name: "g", arguments: "{" } }),
      call(0, { function: { arguments: "{}" } }),
      call(1, { function: { arguments: "}" } }),
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    expect(
      events.map(({ type, output_index: at }) => `${type.replace("response.", "")} ${at ?? ""}`.trim()),
    ).toEqual([
      "created",
      "in_progress",
      "output_item.added 0",
      "content_part.added 0",
      "reasoning_text.delta 0",
      "reasoning_text.done 0",
      "content_part.done 0",
      "output_item.done 0",
      "output_item.added 1",
      "content_part.added 1",
      "output_text.delta 1",
      "output_text.done 1",
      "content_part.done 1",
      "content_part.added 1",
      "refusal.delta 1",
      "refusal.done 1",
      "content_part.done 1",
      "output_item.done 1",
      "output_item.added 2",
      "output_item.added 3",
      "function_call_arguments.delta 3",
      "function_call_arguments.delta 2",
      "function_call_arguments.delta 3",
      "function_call_arguments.done 2",
      "output_item.done 2",
      "function_call_arguments.done 3",
      "output_item.done 3",
      "completed",
    ]);
    expect(outputOf(events)).toEqual(replayed(events));
  });

  test("with a summary where the client requested one", () => {
    const events = eventsOf([{ reasoning: "r" }, { content: "t" }], "stop", true);
    expect(events.slice(3, 7)).toMatchObject([
      {
        type: "response.reasoning_summary_part.added",
        summary_index: 0,
        part: { type: "summary_text", text: "" },
      },
      { type: "response.reasoning_summary_text.delta", summary_index: 0, delta: "r" },
      { type: "response.reasoning_summary_text.done", text: "r" },
      { type: "response.reasoning_summary_part.done", part: { type: "summary_text", text: "r" } },
    ]);
    expect(events.at(7)).toMatchObject({ item: { summary: [{ text: "r" }], content: [] } });
  });

  test("with the log probabilities of its tokens", () => {
    const content = [{ token: "t", logprob: -1, top_logprobs: [{ token: "u", logprob: -2, bytes: [117] }] }];
    const shown = [
      { token: "t", logprob: -1, bytes: [], top_logprobs: [{ token: "u", logprob: -2, bytes: [117] }] },
    ];
    const stream = new ResponseStream(head);
    const [delta] = parsed(stream.take([saidBy({ delta: { content: "t" }, logprobs: { content } })])).slice(
      -1,
    );
    expect(delta).toMatchObject({ type: "response.output_text.delta", logprobs: shown });
    const end = parsed(stream.end({ finishReason: "stop", completedAt: 2, usage: {}, trace }));
    expect(end[0]).toMatchObject({ type: "response.output_text.done", logprobs: shown });
  });

  const CALLS_WITHOUT_ARGUMENTS = [
    { name: "f" },
    { name: "f", arguments: "" },
    { name: "f", arguments: null },
  ];

  test.each(CALLS_WITHOUT_ARGUMENTS)("with the arguments {} of a call without any: %j", (called) => {
    const calls = [
      { id: "a", function: called },
      { id: "b", function: { name: "g", arguments: '{"a":1}' } },
    ].map((call, index) => ({ index, type: "function", ...call }));
    const output = [
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "b", name: "g", arguments: '{"a":1}' },
    ];
    expect(wholeOf({ tool_calls: calls }, "tool_calls")).toMatchObject({ output });
    const events = eventsOf([{ tool_calls: calls }], "tool_calls");
    expect(events.filter(({ type }) => type.endsWith("arguments.done"))).toMatchObject(
      output.map((call) => ({ arguments: call.arguments })),
    );
    expect(outputOf(events)).toMatchObject(output);
    expect(replayed(events)).toEqual(outputOf(events));
  });

  test("with the client's names of functions in namespaces", () => {
    const functions = new Map([["notes__add", { name: "add", namespace: "notes" }]]);
    const called = { name: "notes__add", arguments: "{}" };
    const message = { tool_calls: [{ index: 0, id: "a", function: called }] };
    const output = [
      { type: "function_call", call_id: "a", name: "add", namespace: "notes", arguments: "{}" },
    ];
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    const whole = responseOfChat(Buffer.from(JSON.stringify({ choices })), {
      ...{ head: { ...head, functions }, completedAt: 2, usage },
    });
    expect(JSON.parse(whole.toString())).toMatchObject({ output });
    for (const deltas of [
      [message],
      [
        { tool_calls: [{ index: 0, id: "a" }] },
        { tool_calls: [{ index: 0, function: { name: "notes__add" } }] },
        { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
      ],
    ]) {
      const stream = new ResponseStream({ ...head, functions });
      const parts = deltas.map((delta) => stream.take([saidBy({ delta })]));
      const end = stream.end({ finishReason: "tool_calls", completedAt: 2, usage: {}, trace });
      const events = parsed(Buffer.concat([...parts, end]));
      expect(outputOf(events)).toMatchObject(output);
      const done = events.filter(({ type }) => type.endsWith(".done"));
      expect(done).toMatchObject([{ name: "add" }, { item: output[0] }]);
      expect(JSON.stringify(events)).not.toContain("notes__add");
    }
  });

  test("with no arguments of a call that was cut before they began", () => {
    const call = { index: 0, id: "a", function: { name: "f", arguments: "" } };
    expect(outputOf(eventsOf([{ tool_calls: [call] }], "length"))).toMatchObject([
      { status: "incomplete", arguments: "" },
    ]);
  });

  test.each(["of one name", "of different names"])(
    "with each call of a stream, %s, also if neither ids nor indexes tell them apart",
    (which) => {
      const nameOf = (n: number) => (which === "of one name" ? "f" : `f${n}`);
      const call = (called: object) => ({ tool_calls: [{ index: 0, id: "", function: called }] });
      const deltas = [0, 1, 2].flatMap((n) => [
        call({ name: nameOf(n), arguments: '{"n":' }),
        // Others repeat the name in every delta.
        call({ ...(n === 1 && { name: nameOf(n) }), arguments: `{"m":${n}}` }),
        call({ arguments: "}" }),
      ]);
      expect(outputOf(eventsOf(deltas, "tool_calls"))).toMatchObject(
        [0, 1, 2].map((n) => ({ name: nameOf(n), arguments: `{"n":{"m":${n}}}` })),
      );
    },
  );

  test("with each call of a whole answer, also if neither ids nor indexes tell them apart", () => {
    const calls = [0, 1].map((n) => ({ index: 0, function: { name: `f${n}`, arguments: `{"n":${n}}` } }));
    expect(wholeOf({ tool_calls: calls }, "tool_calls")).toMatchObject({
      output: [
        { name: "f0", arguments: '{"n":0}' },
        { name: "f1", arguments: '{"n":1}' },
      ],
    });
  });

  test("that failed if the provider states that it did", () => {
    const failed = {
      status: "failed",
      error: { code: "upstream_error" },
      incomplete_details: null,
      completed_at: null,
      output: [{ status: "incomplete", content: [{ text: "Hi" }] }],
    };
    expect(wholeOf({ content: "Hi" }, "error")).toMatchObject(failed);
    const events = eventsOf([{ content: "Hi" }], "error");
    expect(events.slice(-2)).toMatchObject([
      { type: "error", code: "upstream_error" },
      { type: "response.failed", response: failed },
    ]);
  });

  test("with one call whose id comes after its name", () => {
    const part = (call: Fields) => ({ tool_calls: [{ index: 0, ...call }] });
    const events = eventsOf([
      part({ function: { name: "f", arguments: "" } }),
      part({ id: "late", function: { arguments: '{"a"' } }),
      part({ id: "late", function: { arguments: ":1}" } }),
      part({ id: "next", function: { name: "g", arguments: "{}" } }),
    ]);
    const output = outputOf(events);
    expect(output).toMatchObject([
      { name: "f", arguments: '{"a":1}' },
      { name: "g", arguments: "{}", call_id: "next" },
    ]);
    expect(replayed(events)).toEqual(output);
  });

  test("that is empty, with no items", () => {
    expect(eventsOf([]).map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.completed",
    ]);
  });

  test("that has no end fails", () => {
    const stream = new ResponseStream(head);
    const delta = { content: "a".repeat(600_000) };
    stream.take([saidBy({ delta })]);
    expect(() => stream.take([saidBy({ delta })])).toThrow("too long");
  });

  test("the same one, in whatever deltas it arrives", () => {
    const text = fc.string({ minLength: 1, maxLength: 12 });
    const said = fc.record(
      { reasoning_content: text, content: text, refusal: text, calls: fc.array(text, { maxLength: 3 }) },
      { requiredKeys: [] },
    );
    const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 5 }));
    fc.assert(
      fc.property(said, cuts, ({ calls = [], ...texts }, cut) => {
        const pieces = (whole: string) => {
          const found: string[] = [];
          for (let at = 0; at < whole.length; ) {
            const length = cut.next().value as number;
            found.push(whole.slice(at, at + length));
            at += length;
          }
          return found;
        };
        const deltas: Fields[] = Object.entries(texts).flatMap(([name, whole]) =>
          pieces(whole).map((piece) => ({ [name]: piece })),
        );
        const toolCalls = calls.map((given, index) => ({
          index,
          id: `c${index}`,
          function: { name: "f", arguments: given },
        }));
        for (const { index, id, function: called } of toolCalls)
          for (const [at, piece] of pieces(called.arguments).entries())
            deltas.push({
              tool_calls: [
                {
                  index,
                  ...(at === 0 && { id }),
                  function: { ...(at === 0 && { name: "f" }), arguments: piece },
                },
              ],
            });
        const events = eventsOf(deltas);
        const message = { ...texts, ...(calls.length > 0 && { tool_calls: toolCalls }) };
        expect(replayed(events)).toEqual(wholeOf(message).output);
        expect(outputOf(events)).toEqual(wholeOf(message).output);
      }),
      { numRuns: 300 },
    );
  });
});
