import { expect, test } from "vitest";
import {
  AnswerReader,
  tokensPerSecond,
} from "../../../gateway/dashboard/app/pages/playground/chat/answer-reader.ts";
import {
  type Answer,
  messagesOf,
  openCalls,
  type Turn,
  toKept,
  withColumn,
} from "../../../gateway/dashboard/app/pages/playground/chat/conversation.ts";
import {
  NO_PARAMETERS,
  parameterSchema,
  parametersFor,
} from "../../../gateway/dashboard/app/pages/playground/chat/parameters.ts";

function answer(text: string, more: Partial<Answer> = {}): Answer {
  return { kind: "answer", model: "m", state: "complete", text, reasoning: "", toolCalls: [], ...more };
}

function turn(text: string, columns: Turn["columns"], images: readonly string[] = []): Turn {
  return { id: text, text, images, columns };
}

const question = (content: unknown) => ({ role: "user", content });
const said = (content: string) => ({ role: "assistant", content });

test("each column has its own answers, and those of the first one for questions from before it was added", () => {
  const turns = [
    turn("one", [[answer("a")]]),
    turn("two", [[answer("b")], [answer("c")]]),
    turn("three", []),
  ];
  expect(messagesOf(turns, 0)).toEqual([
    question("one"),
    said("a"),
    question("two"),
    said("b"),
    question("three"),
  ]);
  expect(messagesOf(turns, 1)).toEqual([
    question("one"),
    said("a"),
    question("two"),
    said("c"),
    question("three"),
  ]);
  // The last question is still to be answered by the second column, although the first one has.
  expect(messagesOf([turn("one", [[answer("a")]])], 1)).toEqual([question("one")]);
});

test("calls of tools and their results are messages, and answers without a text are none", () => {
  const call = { id: "call_1", name: "weather", argumentsJson: "{}" };
  const replies = [
    answer("", { toolCalls: [call] }),
    { kind: "results", results: [{ id: "call_1", name: "weather", content: "21" }] } as const,
    answer("", { state: "failed" }),
  ];
  expect(openCalls(replies.slice(0, 1))).toEqual([call]);
  expect(openCalls(replies)).toEqual([]);
  expect(messagesOf([turn("", [replies], ["data:image/png;base64,AA"])], 0)).toEqual([
    question([{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]),
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "21" },
  ]);
});

test("calls of tools without results are left out: providers refuse a conversation with them", () => {
  const toolCalls = [{ id: "call_1", name: "weather", argumentsJson: '{"ci' }];
  const stopped = answer("I look it up.", { state: "stopped", toolCalls });
  const asked = answer("", { toolCalls });
  const turns = [turn("one", [[stopped]]), turn("two", [[asked]]), turn("three", [])];
  expect(messagesOf(turns, 0)).toEqual([
    question("one"),
    said("I look it up."),
    question("two"),
    question("three"),
  ]);
});

test("what is kept is bounded: the newest questions, without images that do not fit", () => {
  const image = `data:image/png;base64,${"A".repeat(1_000_000)}`;
  const turns = [
    turn("oldest", [[answer("x".repeat(900_000))]]),
    turn("older", [[answer("a")]], [image]),
    turn("newest", [[answer("b", { state: "coming" })]], [image]),
  ];
  const kept = toKept(turns);
  expect(kept.map(({ text, images }) => [text, images.length])).toEqual([
    ["older", 0],
    ["newest", 1],
  ]);
  expect(kept.at(-1)?.columns[0]?.[0]).toMatchObject({ state: "stopped", text: "b" });
  expect(JSON.stringify(kept).length).toBeLessThan(1_500_010);
  expect(toKept(Array.from({ length: 300 }, (_, n) => turn(String(n), []))).length).toBe(100);
});

test("a column that is added later has a place of its own in a question", () => {
  const [changed] = withColumn([turn("one", [])], "one", 2, (replies) => [...replies, answer("c")]);
  expect(changed?.columns.map((replies) => replies.length)).toEqual([0, 0, 1]);
});

test("an answer is put together from its chunks, with its times, its tokens and its bill", () => {
  const reader = new AnswerReader("m", 1_000);
  const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });
  reader.read(chunk({ role: "assistant", content: "" }), 1_100);
  reader.read(chunk({ reasoning_content: "hm" }), 1_200);
  reader.read(chunk({ content: "a" }), 1_300);
  reader.read(
    chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: '{"a"' } }] }),
    1_400,
  );
  reader.read(chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }), 1_400);
  reader.read(
    {
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 41 },
      x_0g_trace: {
        request_id: "req-1",
        provider: "0x1",
        billing: { total_cost: "5" },
        tee_verified: true,
        tee_evidence: { verdict: "verified" },
      },
    },
    1_500,
  );
  const read = reader.answer("complete", 2_200);
  expect(read).toEqual({
    kind: "answer",
    model: "m",
    state: "complete",
    text: "a",
    reasoning: "hm",
    toolCalls: [{ id: "c", name: "f", argumentsJson: '{"a":1}' }],
    firstTokenMs: 200,
    totalMs: 1_200,
    inputTokens: 7,
    outputTokens: 41,
    bill: { requestId: "req-1", provider: "0x1", cost: "5", isVerified: true, verdict: "verified" },
  });
  expect(tokensPerSecond(read)).toBe(40);
  expect(tokensPerSecond({ ...read, totalMs: 200 })).toBeUndefined();
});

test("chunks of another shape, and calls at places without end, change nothing", () => {
  const reader = new AnswerReader("m", 0);
  const call = (index: unknown) => ({ choices: [{ delta: { tool_calls: [{ index, id: "x" }] } }] });
  const chunks = [
    null,
    1,
    [],
    { choices: 1 },
    { choices: [{ delta: { content: 5 } }] },
    call(1e9),
    call(-1),
    call(0.5),
  ];
  for (const chunk of chunks) reader.read(chunk, 1);
  expect(reader.answer("complete", 2)).toMatchObject({ text: "", toolCalls: [] });
});

test("parameters say at their field what is wrong, and a bare function definition is a tool", () => {
  const read = (fields: object) => {
    const { data, error } = parameterSchema.safeParse({ ...NO_PARAMETERS, ...fields });
    return data ?? error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  };
  expect(read({ temperature: "3" })).toEqual(["temperature: A number from 0 to 2."]);
  expect(read({ maxTokens: "1.5" })).toEqual(["maxTokens: A whole number from 1 on."]);
  expect(read({ tools: "{" })).toEqual([expect.stringMatching(/^tools: This is not JSON: /)]);
  expect(read({ tools: '[{"name": "a b"}]' })).toEqual([expect.stringMatching(/^tools: Tool 1 is not/)]);
  expect(read({ tools: "null" })).toEqual([expect.stringMatching(/^tools: Tool 1 is not/)]);
  expect(read({ schema: "[]" })).toEqual([expect.stringMatching(/^schema: A JSON schema is an object/)]);
  expect(read({ temperature: " 0.5 ", seed: "-7", tools: '{"name": "f"}', schema: "{}" })).toMatchObject({
    temperature: 0.5,
    seed: -7,
    topP: undefined,
    tools: [{ type: "function", function: { name: "f" } }],
    schema: {},
  });
});

test("a provider that was chosen for one model does not restrict another", () => {
  const [a, b] = [`0x${"a".repeat(40)}`, `0x${"b".repeat(40)}`];
  const parameters = parameterSchema.parse({ ...NO_PARAMETERS, only: [a] });
  expect(parametersFor(parameters, [{ address: a }, { address: b }]).only).toEqual([a]);
  expect(parametersFor(parameters, [{ address: b }]).only).toEqual([]);
});
