import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { providerBody } from "../../../src/inference/chat/chat-request.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { nativeForm } from "../../../src/inference/responses/native/native-form.ts";
import { readResponsesRequest } from "../../../src/inference/responses/responses-request.ts";
import { AppError } from "../../../src/kernel/errors.ts";

type Fields = Readonly<Record<string, unknown>>;

const read = (body: object) => readResponsesRequest(Buffer.from(JSON.stringify({ model: "m", ...body })));
const formOf = async (body: object) => nativeForm((await read(body)).native);
const user = { role: "user", content: "a" };
const CUSTOM = { type: "custom", name: "patch" };
const FUNCTION = { type: "function", name: "f" };
const within = (...tools: readonly object[]) => ({ type: "namespace", name: "n", tools });
const fileAt = (file_url: string) => ({ role: "user", content: [{ type: "input_file", file_url }] });

/** The chat that a provider is sent for a request. */
async function chatOf(body: object): Promise<Fields> {
  const { chat } = await read(body);
  return JSON.parse(providerBody(chat, 50).toString());
}

async function messagesOf(...input: readonly object[]): Promise<unknown> {
  return (await chatOf({ input })).messages;
}

async function faultOf(body: object): Promise<AppError> {
  try {
    await read(body);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("the request was accepted");
}

describe("a request becomes a chat", () => {
  test.each([
    ["a short body", ""],
    ["a body whose long texts are not parsed", "a".repeat(3 * 2 ** 20)],
  ])("integers of schemas, and of what is passed on, keep all their digits in %s", async (_what, text) => {
    const integers = `{"minimum":-9223372036854775808,"maximum":18446744073709551615,"x":1e400,"y":0.1}`;
    const schema = `{"type":"object","properties":{"id":${integers}}}`;
    const tool = (name: string) =>
      `{"type":"function","name":"${name}","description":"${text}","parameters":${schema}}`;
    const format = `{"type":"json_schema","name":"s","schema":${schema}}`;
    const body = `{"model":"m","input":"${text}a","seed":9007199254740993,"text":{"format":${format}},"tools":[${tool("f")},{"type":"namespace","name":"n","tools":[${tool("g")}]}]}`;
    const { chat, repeated } = await readResponsesRequest(Buffer.from(body));
    const sent = providerBody(chat, 50).toString();
    expect(sent).toContain(`"json_schema":{"name":"s","schema":${schema}}`);
    expect(sent.split(`"parameters":${schema}`)).toHaveLength(3);
    expect(sent).toContain(`"seed":9007199254740993`);
    expect(sent).toContain(`"description":"${text}"`);
    if (text === "") expect(repeated.split(integers)).toHaveLength(4);
  });

  test("a number in place of an object is refused, however long it is", async () => {
    const body = `{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":9007199254740993}]}`;
    await expect(readResponsesRequest(Buffer.from(body))).rejects.toMatchObject({
      code: "invalid_body",
      param: "tools.0.parameters",
    });
  });

  test("a text is a message of the user, after the instructions", async () => {
    expect(await chatOf({ input: "a", instructions: "b" })).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "b" },
        { role: "user", content: "a" },
      ],
      max_tokens: 50,
    });
  });

  test("settings have the names of a chat, what is unknown passes, and what is ours does not", async () => {
    const sent = await chatOf({
      input: "a",
      stream: true,
      stream_options: { include_obfuscation: false },
      max_output_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      seed: 3,
      user: null,
      store: false,
      truncation: "disabled",
      metadata: { a: "b" },
      include: ["message.output_text.logprobs", "reasoning.encrypted_content"],
      top_logprobs: 2,
      reasoning: { effort: "low", summary: "auto" },
      text: {
        format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true },
        verbosity: "low",
      },
      verify_tee: false,
      provider: { sort: "price" },
    });
    expect(sent).toEqual({
      model: "m",
      messages: [user],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      seed: 3,
      logprobs: true,
      top_logprobs: 2,
      reasoning_effort: "low",
      verbosity: "low",
      response_format: {
        type: "json_schema",
        json_schema: { name: "n", schema: { type: "object" }, strict: true },
      },
    });
  });

  test("the items of one turn are one message", async () => {
    const call = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
    const called = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
    const thought = (text: string) => ({
      type: "reasoning",
      id: "rs_1",
      summary: [],
      content: [{ type: "reasoning_text", text }],
    });
    const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "b" }] };
    const output = {
      type: "function_call_output",
      call_id: "1",
      output: [{ type: "input_text", text: "c" }],
    };
    expect(
      await messagesOf(
        user,
        thought("x"),
        thought("y"),
        said,
        call("1"),
        call("2"),
        output,
        thought("z"),
        said,
      ),
    ).toEqual([
      user,
      {
        role: "assistant",
        content: "b",
        reasoning_content: "x\n\ny",
        tool_calls: [called("1"), called("2")],
      },
      { role: "tool", tool_call_id: "1", content: "c" },
      { role: "assistant", content: "b", reasoning_content: "z" },
    ]);
  });

  test("what an assistant says after a call is in the message with the call, which its output follows", async () => {
    const call = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
    const called = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
    const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "x" }] };
    const said = (...texts: readonly string[]) => ({
      ...{ type: "message", role: "assistant" },
      content: texts.map((text) => ({ type: "output_text", text })),
    });
    const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "c" });
    const answered = (id: string) => ({ role: "tool", tool_call_id: id, content: "c" });
    const both = { role: "assistant", tool_calls: [called("1"), called("2")] };
    const answers = [answered("1"), answered("2")];
    const outputs = [output("1"), output("2")];
    expect(await messagesOf(call("1"), thought, call("2"), said("b"), ...outputs)).toEqual([
      { ...both, content: "b", reasoning_content: "x" },
      ...answers,
    ]);
    expect(await messagesOf(said("a"), call("1"), said("b"), call("2"), ...outputs)).toEqual([
      { ...both, content: "a\n\nb" },
      ...answers,
    ]);
    const text = (text: string) => ({ type: "text", text });
    expect(await messagesOf(said("a"), call("1"), said("b", "c"), call("2"), ...outputs)).toEqual([
      { ...both, content: [text("a"), text("b"), text("c")] },
      ...answers,
    ]);
    expect(await messagesOf(said("a"), said("b"))).toHaveLength(2);
  });

  test("a call without arguments has those of a function without parameters", async () => {
    const call = { type: "function_call", call_id: "1", name: "f", arguments: "" };
    const calls = [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }];
    expect(await messagesOf(user, call)).toMatchObject([user, { tool_calls: calls }]);
  });

  test("a developer is the system, and an unfinished thought is left out", async () => {
    const summary = [{ type: "summary_text", text: "x" }];
    expect(
      await messagesOf({ role: "developer", content: "a" }, { type: "reasoning", summary }, user),
    ).toEqual([{ role: "system", content: "a" }, user]);
  });

  test("images, files and audio keep their content", async () => {
    const content = [
      { type: "input_text", text: "a" },
      { type: "input_image", image_url: "data:,1", detail: "low" },
      { type: "input_image", image_url: "data:,2" },
      { type: "input_file", file_data: "data:,3", filename: "f.pdf" },
      { type: "input_audio", input_audio: { data: "4", format: "wav" } },
      { type: "refusal", refusal: "no" },
    ];
    expect(await messagesOf({ role: "user", content })).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: "data:,1", detail: "low" } },
          { type: "image_url", image_url: { url: "data:,2" } },
          { type: "file", file: { file_data: "data:,3", filename: "f.pdf" } },
          { type: "input_audio", input_audio: { data: "4", format: "wav" } },
          { type: "text", text: "no" },
        ],
      },
    ]);
  });

  test("functions are nested, and only those that the choice allows are offered", async () => {
    const tool = (name: string) => ({ type: "function", name, parameters: { type: "object" }, strict: true });
    const sent = (name: string) => ({
      type: "function",
      function: { name, parameters: { type: "object" }, strict: true },
    });
    const tools = [tool("f"), tool("g")];
    expect(await chatOf({ input: "a", tools, tool_choice: { type: "function", name: "g" } })).toMatchObject({
      tools: [sent("f"), sent("g")],
      tool_choice: { type: "function", function: { name: "g" } },
    });
    const allowed = { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] };
    const limited = await chatOf({ input: "a", tools, tool_choice: allowed, parallel_tool_calls: false });
    expect(limited).toMatchObject({ tools: [sent("f")], tool_choice: "auto", parallel_tool_calls: false });
    const none = await chatOf({ input: "a", tools: [], tool_choice: "auto", parallel_tool_calls: true });
    expect(Object.keys(none)).toEqual(["model", "messages", "max_tokens"]);
  });

  describe("namespaces", () => {
    const fn = (name: string, more: object = {}) => ({ type: "function", name, ...more });
    const group = (name: string, ...tools: readonly object[]) => ({ type: "namespace", name, tools });

    /** The names in the chat of the functions of these tools, and what they are restored to. */
    async function namesOf(...tools: readonly object[]) {
      const { chat, functions } = await read({ input: "a", tools });
      const sent = (chat.fields.tools ?? []) as readonly { readonly function: { readonly name: string } }[];
      const names = sent.map((tool) => tool.function.name);
      return { names, restored: names.map((name) => functions.get(name) ?? { name }) };
    }

    test("become functions, of which the first has the description of its namespace", async () => {
      const parameters = { type: "object" };
      const tools = [
        fn("add"),
        {
          ...group("notes", fn("add", { description: "Adds.", parameters, strict: false }), fn("list")),
          description: "Notes.",
        },
        { ...group("empty"), description: "Nothing." },
        { ...group("crm", fn("find")), description: "Customers." },
      ];
      const { tools: sent } = await chatOf({ input: "a", tools });
      expect(sent).toEqual([
        { type: "function", function: { name: "add" } },
        {
          type: "function",
          function: { name: "notes__add", description: "Notes.\n\nAdds.", parameters, strict: false },
        },
        { type: "function", function: { name: "notes__list" } },
        { type: "function", function: { name: "crm__find", description: "Customers." } },
      ]);
      const { repeated } = await read({ input: "a", tools });
      expect(JSON.parse(repeated).tools[1]).toMatchObject({
        type: "namespace",
        name: "notes",
        tools: [{ name: "add" }, { name: "list" }],
      });
    });

    test("have functions with names that no other function has, within the limits of a chat", async () => {
      const long = "a".repeat(60);
      const { names, restored } = await namesOf(
        fn("a__f"),
        group("a", fn("f"), fn("b__c")),
        group("a__b", fn("c")),
        group(long, fn("one"), fn("two")),
        group(`${long}b`, fn("one")),
        group("mcp.server", fn("read file")),
        group("mcp_server", fn("read_file")),
      );
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(names.slice(0, 3)).toEqual(["a__f", expect.stringMatching(/^a__f_[0-9a-f]{8}$/), "a__b__c"]);
      expect(names[4]).toMatch(/__one_[0-9a-f]{8}$/);
      expect(restored).toEqual([
        { name: "a__f" },
        { namespace: "a", name: "f" },
        { namespace: "a", name: "b__c" },
        { namespace: "a__b", name: "c" },
        { namespace: long, name: "one" },
        { namespace: long, name: "two" },
        { namespace: `${long}b`, name: "one" },
        { namespace: "mcp.server", name: "read file" },
        { namespace: "mcp_server", name: "read_file" },
      ]);
    });

    test("any functions have distinct names, the same in each request", async () => {
      const name = fc.stringMatching(/^[a_.]{1,40}$/);
      const tool = fc.oneof(
        name.map((one) => fn(one)),
        fc
          .tuple(name, fc.uniqueArray(name, { minLength: 1, maxLength: 4 }))
          .map(([one, names]) => group(one, ...names.map((each) => fn(each)))),
      );
      const tools = fc.uniqueArray(tool, { maxLength: 6, selector: (one) => `${one.type} ${one.name}` });
      await fc.assert(
        fc.asyncProperty(tools, async (offered) => {
          const { names, restored } = await namesOf(...offered);
          expect(new Set(names).size).toBe(names.length);
          expect(restored).toEqual(
            offered.flatMap((one): readonly Fields[] => {
              const { name: namespace } = one;
              return "tools" in one
                ? one.tools.map((inner) => ({ namespace, name: (inner as Fields).name }))
                : [{ name: namespace }];
            }),
          );
          expect((await namesOf(...offered)).names).toEqual(names);
        }),
        { numRuns: 100 },
      );
    });

    test("are in earlier calls too, also of functions that are not offered any more", async () => {
      const call = (call_id: string, name: string, namespace?: string) => ({
        ...{ type: "function_call", call_id, name, arguments: "{}" },
        ...(namespace !== undefined && { namespace }),
      });
      const tools = [fn("notes__add"), group("notes", fn("add"))];
      const input = [user, call("1", "add", "notes"), call("2", "notes__add"), call("3", "old", "gone")];
      const { messages, tools: sent } = await chatOf({ input, tools });
      const [, offered] = sent as readonly { readonly function: { readonly name: string } }[];
      const [, turn] = messages as readonly {
        readonly tool_calls?: readonly { readonly function: Fields }[];
      }[];
      expect(turn?.tool_calls?.map((one) => one.function.name)).toEqual([
        offered?.function.name,
        "notes__add",
        "gone__old",
      ]);
    });

    test.each<[string, object, string[], unknown]>([
      [
        "a function of one",
        { type: "function", namespace: "b", name: "f" },
        ["f", "a__f", "a__g", "b__f"],
        "b__f",
      ],
      ["a name of one only", { type: "function", name: "g" }, ["f", "a__f", "a__g", "b__f"], "a__g"],
      ["a name outside of them first", { type: "function", name: "f" }, ["f", "a__f", "a__g", "b__f"], "f"],
      [
        "one of them",
        { type: "allowed_tools", mode: "required", tools: [{ type: "namespace", name: "a" }] },
        ["a__f", "a__g"],
        "required",
      ],
      [
        "a function of one among others",
        {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", namespace: "a", name: "f" }, fn("f")],
        },
        ["f", "a__f"],
        "auto",
      ],
    ])("may be chosen: %s", async (_, tool_choice, offered, mode) => {
      const tools = [group("a", fn("f"), fn("g")), fn("f"), group("b", fn("f"))];
      const chat = await chatOf({ input: "a", tools, tool_choice });
      const sent = chat.tools as readonly { readonly function: { readonly name: string } }[];
      expect(sent.map((tool) => tool.function.name).toSorted()).toEqual(offered.toSorted());
      const { tool_choice: chosen } = chat;
      expect((chosen as { readonly function?: Fields }).function?.name ?? chosen).toBe(mode);
    });
  });

  test("what only a provider of responses reads is left out of a chat", async () => {
    const sent = await chatOf({
      ...{ input: "a", generate: true, multi_agent: null },
      context_management: [{ type: "compaction", compact_threshold: 1_000 }],
      client_metadata: { turn_id: "1" },
      access_programs: {},
      image: { context_compression: "auto" },
    });
    expect(Object.keys(sent)).toEqual(["model", "messages", "max_tokens"]);
  });

  test("the long strings of a large body arrive whole, also where several become one", async () => {
    const long = 'é "quoted"\n'.repeat(100_000);
    const summary = [long, "b"].map((text) => ({ type: "summary_text", text }));
    const input = [
      { role: "user", content: [{ type: "input_image", image_url: `data:,${long}` }] },
      { type: "reasoning", summary },
      { role: "assistant", content: long },
      user,
    ];
    const { chat, repeated } = await read({ input, instructions: long.slice(0, 2_000) });
    expect(JSON.parse(providerBody(chat, 5).toString()).messages).toEqual([
      { role: "system", content: long.slice(0, 2_000) },
      { role: "user", content: [{ type: "image_url", image_url: { url: `data:,${long}` } }] },
      { role: "assistant", content: long, reasoning_content: `${long}\n\nb` },
      user,
    ]);
    expect(JSON.parse(repeated).instructions).toBe(long.slice(0, 2_000));
  });

  test("a response does not repeat long instructions and tools", async () => {
    const { repeated } = await read({ input: "a", instructions: "a".repeat(300_000), temperature: 0.5 });
    expect(JSON.parse(repeated)).toMatchObject({ instructions: null, tools: [], temperature: 0.5 });
  });

  test.each<[string, object]>([
    ["input", { input: "" }],
    ["input", { input: [] }],
    ["input.0", { input: ["a"] }],
    ["input.1.type", { input: [user, { type: "computer_call" }] }],
    ["input.0", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["input.0.role", { input: [{ role: "tool", content: "a" }] }],
    ["input.0.content", { input: [{ role: "user" }] }],
    ["input.1.content.0.type", { input: [user, { role: "user", content: [{ type: "input_video" }] }] }],
    [
      "input.0.content.1.text",
      { input: [{ role: "user", content: [{ type: "text", text: "" }, { type: "text" }] }] },
    ],
    ["input.0.content.0.image_url", { input: [{ role: "user", content: [{ type: "input_image" }] }] }],
    [
      "input.0.content.0.file_id",
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
    ],
    ["input.0.encrypted_content", { input: [{ type: "reasoning", summary: [], encrypted_content: 1 }] }],
    ["input.0.call_id", { input: [{ type: "function_call", name: "f", arguments: "{}" }] }],
    ["input.0.arguments", { input: [{ type: "function_call", name: "f", call_id: "1", arguments: {} }] }],
    ["input.0.output", { input: [{ type: "function_call_output", call_id: "1" }] }],
    ["input.0.summary.0.text", { input: [{ type: "reasoning", summary: [{}] }] }],
    ["tools.1.type", { input: "a", tools: [{ type: "function", name: "f" }, { type: "web_search" }] }],
    ["tools.0.name", { input: "a", tools: [{ type: "function" }] }],
    ["tool_choice.name", { input: "a", tools: [], tool_choice: { type: "function", name: "f" } }],
    ["tool_choice.type", { input: "a", tool_choice: { type: "file_search" } }],
    ["tool_choice", { input: "a", tool_choice: "required" }],
    ["store", { input: "a", store: 1 }],
    ["background", { input: "a", background: true }],
    ["previous_response_id", { input: "a", previous_response_id: 1 }],
    ["conversation", { input: "a", conversation: { id: "c" } }],
    ["prompt", { input: "a", prompt: { id: "p" } }],
    ["truncation", { input: "a", truncation: "none" }],
    ["tools.0.name", { input: "a", tools: [{ type: "custom" }] }],
    ["tool_choice.name", { input: "a", tools: [CUSTOM], tool_choice: { type: "custom", name: "f" } }],
    ["text.format.name", { input: "a", text: { format: { type: "json_schema", schema: {} } } }],
    ["model", { model: undefined, input: "a" }],
    ["text.format.type", { input: "a", text: { format: { type: "grammar" } } }],
    ["n", { input: "a", n: 2 }],
    ["max_tokens", { input: "a", max_tokens: 2 }],
    ["messages", { input: "a", messages: [] }],
    ["plugins", { input: "a", plugins: [{}] }],
    ["tools.0.name", { input: "a", tools: [{ type: "namespace", tools: [] }] }],
    ["tools.0.tools", { input: "a", tools: [{ type: "namespace", name: "n" }] }],
    ["tools.0.tools.1", { input: "a", tools: [{ type: "namespace", name: "n", tools: [FUNCTION, null] }] }],
    ["tools.0.tools.0.type", { input: "a", tools: [within({ type: "web_search" })] }],
    ["tools.0.tools.0.type", { input: "a", tools: [within(within(FUNCTION))] }],
    ["tools.0.tools.0.name", { input: "a", tools: [within({ type: "function" })] }],
    ["tools.0.execution", { input: "a", tools: [{ type: "tool_search" }] }],
    ["tool_choice.type", { input: "a", tools: [within(FUNCTION)], tool_choice: within(FUNCTION) }],
    [
      "tool_choice.name",
      { input: "a", tools: [within(FUNCTION)], tool_choice: { ...FUNCTION, namespace: "m" } },
    ],
    [
      "input.0.namespace",
      { input: [{ type: "function_call", call_id: "1", name: "f", arguments: "", namespace: 1 }] },
    ],
    ["input.0.tools.0.type", { input: [{ type: "tool_search_output", tools: [{ type: "mcp" }] }] }],
    ["input.0.tools", { input: [{ type: "tool_search_output" }] }],
    ...["custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output"].map(
      (type): [string, object] => [
        "input.0.output.0.file_id",
        { input: [{ type, call_id: "1", output: [{ type: "input_file", file_id: "file-other" }] }] },
      ],
    ),
    ["input.0.encrypted_content", { input: [{ type: "compaction", id: "cmp_1" }] }],
    ["input.0.encrypted_content", { input: [{ type: "compaction", id: "cmp_1", encrypted_content: "" }] }],
  ])("a fault names %s, of %j", async (param, body) => {
    expect(await faultOf(body)).toMatchObject({ code: "invalid_body", param });
  });

  test.each<[string, object]>([
    ["input.0.content.0.file_url", { input: [fileAt("https://example.com/a.pdf")] }],
    ["input.1.type", { input: [user, { type: "custom_tool_call_output", call_id: "1", output: "a" }] }],
    ["input.1.type", { input: [user, { type: "local_shell_call_output", id: "1", output: "a" }] }],
    ["tools.0.type", { input: "a", tools: [CUSTOM] }],
    ["tools.0.type", { input: "a", tools: [{ type: "local_shell" }] }],
    ["tools.0.type", { input: "a", tools: [CUSTOM], tool_choice: { type: "custom", name: "patch" } }],
    ["truncation", { input: "a", truncation: "auto" }],
    ["tools.0.tools.1.type", { input: "a", tools: [within(FUNCTION, CUSTOM)] }],
    ["tools.0.type", { input: "a", tools: [{ type: "tool_search", execution: "client" }] }],
    ["input.0.type", { input: [{ type: "tool_search_call", call_id: "1", arguments: {} }] }],
    ["input.0.type", { input: [{ type: "tool_search_output", call_id: "1", tools: [within(FUNCTION)] }] }],
    ["input.1.type", { input: [user, { type: "compaction", encrypted_content: "a" }] }],
    ["input.1.type", { input: [user, { type: "compaction_trigger" }] }],
    ["multi_agent", { input: "a", multi_agent: { enabled: true } }],
    ["generate", { input: "a", generate: false }],
  ])("only a provider with this format serves %s, of %j", async (param, body) => {
    const { needs } = await formOf(body);
    expect(needs.failure).toMatchObject({ code: "invalid_body", param });
    const served = [["openai"], ["responses"], ["openai", "responses"]] as const;
    expect(served.map((formats) => needs.serves({ formats }))).toEqual([false, true, true]);
  });

  test.each<[string, object]>([
    ["items of type compaction", { input: [{ type: "compaction", encrypted_content: "a" }] }],
    ["items of type compaction_trigger", { input: [user, { type: "compaction_trigger" }] }],
    ["items of type computer_call", { input: [{ type: "computer_call" }] }],
    ["parts of type input_video", { input: [{ role: "user", content: [{ type: "input_video" }] }] }],
    ["tools of type tool_search", { input: "a", tools: [{ type: "tool_search", execution: "client" }] }],
    ["tools of type web_search", { input: "a", tools: [{ type: "web_search" }] }],
  ])("the reason names the type: %s", async (what, body) => {
    const reason = await formOf(body).then(
      ({ needs }) => needs.failure,
      (error: unknown) => error,
    );
    expect((reason as AppError).message).toContain(`${what} are not supported`);
  });

  test.each<[string, object]>([
    ["store", { input: "a", store: true }],
    ["previous_response_id", { input: "a", previous_response_id: "resp_1" }],
  ])("only a provider that keeps responses serves %s", async (param, body) => {
    const { needs } = await formOf(body);
    expect(needs.failure).toMatchObject({ code: "invalid_body", param });
    const kept = [false, true].map((keepsResponses) => ({ formats: ["responses"] as const, keepsResponses }));
    expect(kept.map((profile) => needs.serves(profile))).toEqual([false, true]);
    expect(needs.serves({ formats: ["openai"], keepsResponses: true })).toBe(false);
  });

  test("instructions that are too long for the events of a provider are streamed by a chat", async () => {
    const long = { input: "a", instructions: "a".repeat(400_000) };
    const both = { formats: ["openai", "responses"] } as const;
    expect((await formOf(long)).isServedBy(both)).toBe(true);
    const { needs, isServedBy } = await formOf({ ...long, stream: true });
    expect([isServedBy(both), needs.serves(both), needs.serves({ formats: ["responses"] })]).toEqual([
      false,
      true,
      false,
    ]);
    expect(needs.failure).toMatchObject({ code: "invalid_body", param: "instructions" });
    expect((await formOf({ input: "a".repeat(400_000), stream: true })).isServedBy(both)).toBe(true);
  });

  test("every provider of chats serves what can be translated", async () => {
    const { needs } = await formOf({ input: "a", truncation: "disabled" });
    expect(needs.failure).toBeUndefined();
    expect(needs.serves({ formats: ["openai"] })).toBe(true);
    expect(needs.serves({ formats: ["anthropic", "completions"] })).toBe(false);
  });

  test("reasoning that a chat leaves out counts for providers that are sent it", async () => {
    const reasoning = { type: "reasoning", summary: [], encrypted_content: "a".repeat(400) };
    const { chat, native } = await read({ input: [user, reasoning] });
    expect(nativeForm(native).moreTokens).toBe(100);
    expect(chat.prompt.maxTokens).toBeGreaterThan(400);
    expect((await formOf({ input: [user] })).moreTokens).toBe(0);
    const compaction = { type: "compaction", encrypted_content: "a".repeat(400) };
    expect((await formOf({ input: [user, compaction] })).moreTokens).toBe(100);
  });

  test("text that only its author can read is known in the prompt, and where an answer may have it", async () => {
    const { encrypted: none } = (await formOf({ input: "a", include: [] })).needs;
    const reasoning = (encrypted_content?: string) => ({ type: "reasoning", summary: [], encrypted_content });
    const cases: readonly [object, unknown][] = [
      [{ input: [reasoning()] }, none],
      [{ input: [reasoning("a")] }, "in_prompt"],
      [{ input: [{ type: "compaction", encrypted_content: "a" }] }, "in_prompt"],
      [{ input: "a", include: ["reasoning.encrypted_content"] }, "in_answer"],
      [{ input: "a", context_management: [{ type: "compaction" }] }, "in_answer"],
    ];
    expect(none).toBeUndefined();
    for (const [body, expected] of cases) expect((await formOf(body)).needs.encrypted).toBe(expected);
  });

  test("the body for a provider with this format is the client's own, which stores nothing", async () => {
    const form = await formOf({ input: "a", seed: 1, provider: { sort: "price" } });
    const provider = { model: "m" } as Provider;
    expect(JSON.parse(form.body(provider, 7).toString())).toEqual({
      ...{ model: "m", input: "a", seed: 1, store: false, max_output_tokens: 7 },
    });
    const own = Buffer.from('{"model":"m","input":"a","store":false,"max_output_tokens":9,"seed":1.0}');
    const exact = nativeForm((await readResponsesRequest(own)).native);
    expect(exact.body(provider, 7)).toEqual(own);
    const renamed = exact.body({ ...provider, upstreamModel: "theirs" }, 7);
    expect(JSON.parse(renamed.toString())).toMatchObject({ model: "theirs", max_output_tokens: 9 });
  });

  test("a provider with this format is not sent the ids of reasoning that it would have to look up", async () => {
    const reasoning = { type: "reasoning", summary: [] };
    const input = [
      { ...reasoning, id: "rs_1" },
      { ...reasoning, id: "rs_2", encrypted_content: "a" },
      { ...user, id: "msg_1" },
    ];
    const { body } = await formOf({ input });
    expect(JSON.parse(body({ model: "m" } as Provider, 7).toString()).input).toEqual([
      reasoning,
      ...input.slice(1),
    ]);
  });

  test("any input is either translated to messages with roles, or refused by the name of a field", async () => {
    const type = fc.constantFrom(
      ...["message", "reasoning", "function_call", "function_call_output", "input_text", "input_image"],
    );
    const part = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.record({ type, text: fc.string(), image_url: fc.string() }),
    );
    const content = fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }));
    const item = fc.record(
      {
        type,
        role: fc.constantFrom("user", "assistant", "system", "developer", "tool"),
        content,
        summary: content,
        output: content,
        call_id: fc.constantFrom("1", ""),
        name: fc.constantFrom("f", ""),
        arguments: fc.constantFrom("{}", 1),
      },
      { requiredKeys: ["role"] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(item, fc.jsonValue({ maxDepth: 1 })), { maxLength: 6 }),
        async (input) => {
          try {
            const messages = (await chatOf({ input })).messages as readonly Fields[];
            for (const { role, content, tool_calls } of messages) {
              expect(["user", "assistant", "system", "tool"]).toContain(role);
              expect(content === null ? Array.isArray(tool_calls) : content !== undefined).toBe(true);
            }
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
            expect((error as AppError).param).toMatch(/^input/);
          }
        },
      ),
      { numRuns: 500, seed: 7 },
    );
  });
});

describe("include", () => {
  test.each([
    [["bogus"], "include.0"],
    [["reasoning.encrypted_content", "bogus"], "include.1"],
    [[""], "include.0"],
    [["constructor"], "include.0"],
    [["x".repeat(5_000)], "include.0"],
  ])("%j is refused by the index of the value", async (include, param) => {
    const { code, param: shown, message } = await faultOf({ input: "a", include });
    expect([code, shown]).toEqual(["invalid_body", param]);
    expect(message).toMatch(/: must be one of message\.output_text\.logprobs, /);
    expect(message.length).toBeLessThan(400);
  });

  test("OpenAI's other values change nothing of the chat", async () => {
    const include = [
      ...["file_search_call.results", "web_search_call.results", "web_search_call.action.sources"],
      ...["message.input_image.image_url", "computer_call_output.output.image_url"],
      ...["code_interpreter_call.outputs", "reasoning.encrypted_content"],
    ];
    expect(await chatOf({ input: "a", include })).toEqual(await chatOf({ input: "a" }));
    for (const none of [null, []])
      expect(await chatOf({ input: "a", include: none })).toEqual(await chatOf({ input: "a" }));
  });
});
