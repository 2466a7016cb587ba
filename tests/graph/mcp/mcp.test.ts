// @module-tag large
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Ajv2020 } from "ajv/dist/2020.js";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, onTestFinished, test } from "vitest";
import { OWN_DOCUMENTS } from "../../../gateway/graph/own-documents.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { ManagementKeyService } from "../../../src/keys/management-keys/management-key.service.ts";
import { MODEL } from "../../support/chain/network.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { startPublisher } from "../../support/storage/publisher.ts";
import { until } from "../../support/until.ts";

type Block = {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
};
type Result = {
  readonly content: readonly Block[];
  readonly structuredContent?: never;
  readonly isError?: boolean;
};

const stack = useStack();
const services = useServices(stack, ["images", "messages"]);
const RICH = 10n ** 12n;
const IMAGE = { model: SERVICES.images.model, prompt: "a sea", size: "8x8" };
/** The handshake of 2025 and the stateless protocol of 2026. */
const ERAS = ["legacy", "auto"] as const;

const newOwner = () => seedAccount(stack().app.database, RICH);

async function connect(secret?: string, mode: (typeof ERAS)[number] = "auto"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const url = new URL(`${stack().origin}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

async function reader({ account }: Seeded): Promise<string> {
  const keys = new ManagementKeyService({
    database: stack().app.database,
    clock: systemClock,
    committed: () => {},
  });
  return (await keys.create(account, "reader", ["account:read"])).secret;
}

const call = async (client: Client, name: string, args: object = {}, options: object = {}) =>
  (await client.callTool({ name, arguments: { ...args } }, options)) as unknown as Result;

/** The JSON of a result. */
const textIn = ({ content }: Result) =>
  JSON.parse(content.find(({ type }) => type === "text")?.text ?? "null");

describe.each(ERAS)("the official client (%s)", (mode) => {
  test("chats, and the account is charged once", async () => {
    const owner = await newOwner();
    const client = await connect(owner.secret, mode);
    const result = await call(client, "complete_chat", { model: MODEL, question: "hi", idempotencyKey: "a" });
    const again = await call(client, "complete_chat", { model: MODEL, question: "hi", idempotencyKey: "a" });
    const { completion } = textIn(result).completeChat;
    expect(result.isError).toBeUndefined();
    expect(result.structuredContent).toEqual(textIn(result));
    expect(textIn(again)).toEqual(textIn(result));
    await requireAvailable(stack().app, owner, { available: RICH - BigInt(completion.bill.cost.total) });
  });

  test("an image is generated as a job, with its steps as progress", async () => {
    const client = await connect((await newOwner()).secret, mode);
    const steps: { readonly progress: number; readonly message?: string }[] = [];
    const options = { onprogress: (step: { progress: number; message?: string }) => void steps.push(step) };
    const result = await call(client, "generate_image", IMAGE, options);
    const [image] = result.content;
    expect([image?.type, image?.mimeType]).toEqual(["image", "image/png"]);
    expect(textIn(result)).toMatchObject({ status: "COMPLETED", bill: { cost: { total: "1000" } } });
    expect(steps.map(({ progress }) => progress)).toEqual(steps.map((_, n) => n + 1));
    expect(steps.at(-1)?.message).toBe("COMPLETED (COMPLETED, 100 %)");
  });

  test("requests and files are resources", async () => {
    const owner = await newOwner();
    const chat = await call(await connect(owner.secret), "complete_chat", { model: MODEL, question: "hi" });
    const { requestId } = textIn(chat).completeChat.completion.bill;
    const client = await connect(await reader(owner), mode);
    const uri = `zerograph://requests/${requestId}`;
    await until(async () => {
      const { resources } = await client.listResources();
      expect(resources.map((one) => one.uri)).toContain(uri);
    });
    const { contents } = await client.readResource({ uri });
    expect(JSON.parse(String((contents[0] as { text?: string }).text))).toMatchObject({
      requestId,
      status: "COMPLETED",
    });
    await expect((await connect()).readResource({ uri })).rejects.toMatchObject({
      code: -32_600,
      data: { code: "missing_authorization" },
    });
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "zerograph://requests/{requestId}",
      "zerograph://files/{root}",
    ]);
  });

  test("the newest files are listed with their sizes, and read", async () => {
    const publisher = await startPublisher(stack());
    const content = randomBytes(300);
    const file = await publisher.publish(content);
    const client = await connect(undefined, mode);
    const uri = `zerograph://files/${file.root}`;
    await until(async () => {
      const { resources } = await client.listResources();
      expect(resources).toContainEqual(expect.objectContaining({ uri, name: "File of 300 bytes" }));
    });
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, blob: content.toString("base64") }]);
  });
});

test("every document that the product itself sends is valid", () => {
  const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
  for (const text of OWN_DOCUMENTS) expect(validate(schema, parse(text)), text).toEqual([]);
});

describe("the length of an answer", () => {
  const MESSAGE = { model: SERVICES.messages.model, question: "Tell me about the sea" };
  const tokensOf = async (owner: Seeded) => {
    const [row] = await stack().app.database.rows<{ tokens: number }>(
      "select output_tokens::int as tokens from inference_request where account = $1 order by created_at desc limit 1",
      [owner.account],
    );
    return row?.tokens;
  };

  test.each([
    ["create_message", MESSAGE],
    ["complete_chat", { model: MODEL, question: "Tell me about the sea" }],
  ])("of %s is the caller's choice, within the guardrail of its key", async (name, args) => {
    const owner = await newOwner();
    const client = await connect(owner.secret);
    const result = await call(client, name, { ...args, maxTokens: 2 });
    expect(result.isError, JSON.stringify(result)).toBeUndefined();
    expect(await tokensOf(owner)).toBe(2);
    await stack().app.apiKeys.update(owner.account, owner.keyId, { maxOutputTokens: 3 });
    expect((await call(client, name, args)).isError).toBeUndefined();
    expect(await tokensOf(owner)).toBe(3);
    const refused = await call(client, name, { ...args, maxTokens: 4 });
    expect(textIn(refused).error).toMatchObject({ code: "guardrail_violated", field: "maxTokens" });
    for (const maxTokens of [0, -1, 1.5, "many", 2 ** 31])
      expect((await call(client, name, { ...args, maxTokens })).isError, String(maxTokens)).toBe(true);
  });

  test("is described to the model, with its default", async () => {
    const { tools } = await (await connect((await newOwner()).secret)).listTools();
    const schema = tools.find(({ name }) => name === "create_message")?.inputSchema;
    expect(schema?.properties?.maxTokens).toMatchObject({ description: expect.stringContaining("1024") });
    expect(schema?.required).not.toContain("maxTokens");
  });
});

describe("tools", () => {
  test("are the operations that the caller may run", async () => {
    const owner = await newOwner();
    const names = async (secret?: string) =>
      (await (await connect(secret)).listTools()).tools.map(({ name }) => name);
    const [anyone, key, account] = [
      await names(),
      await names(owner.secret),
      await names(await reader(owner)),
    ];
    for (const name of ["models", "networks"])
      for (const listed of [anyone, key, account]) expect(listed).toContain(name);
    for (const name of [
      "complete_chat",
      "generate_image",
      "create_speech",
      "message_token_count",
      "routing_preview",
    ])
      expect(
        [anyone, key, account].map((listed) => listed.includes(name)),
        name,
      ).toEqual([false, true, false]);
    for (const name of ["usage", "deposits", "api_keys"])
      expect(
        [anyone, key, account].map((listed) => listed.includes(name)),
        name,
      ).toEqual([false, false, name !== "api_keys"]);
  });

  test("that are listed are not refused for the credential", async () => {
    const owner = await newOwner();
    for (const secret of [undefined, owner.secret, await reader(owner)]) {
      const client = await connect(secret);
      const { tools } = await client.listTools();
      const withoutArguments = tools.filter(({ inputSchema: { required = [] } }) => required.length === 0);
      expect(withoutArguments.length).toBeGreaterThan(3);
      for (const { name } of withoutArguments)
        expect(JSON.stringify(await call(client, name)), name).not.toMatch(
          /insufficient_scope|missing_authorization/,
        );
    }
  });

  test("have schemas in which every argument is described, or named as what it is", async () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    const { tools } = await (await connect((await newOwner()).secret)).listTools();
    expect(tools.length).toBeGreaterThan(20);
    for (const { name, description, inputSchema } of tools) {
      expect(description, name).not.toBe("");
      expect(description, name).not.toMatch(/dashboard|below/i);
      expect(() => ajv.compile(inputSchema), name).not.toThrow();
      for (const [argument, schema] of Object.entries(inputSchema.properties ?? {}))
        expect((schema as { description?: string }).description, `${name}.${argument}`).toBeTruthy();
    }
  });

  test.each([
    ["models", { first: "many" }],
    ["complete_chat", {}],
    ["complete_chat", { model: MODEL }],
    ["complete_chat", { model: "none", question: "hi" }],
    ["generate_image", { ...IMAGE, n: 99 }],
    ["generate_image", { ...IMAGE, model: "none" }],
    ["generate_image", { prompt: "a sea" }],
  ])("%s of %j tells the model what is wrong, without a charge", async (name, args) => {
    const owner = await newOwner();
    const result = await call(await connect(owner.secret), name, args);
    expect(result.isError).toBe(true);
    expect(textIn(result)).toMatchObject({
      error: { code: expect.any(String), message: expect.any(String) },
    });
    await requireAvailable(stack().app, owner, { available: RICH });
  });

  test.each([
    ["complete_chat", { model: 5, question: "hi" }, "model"],
    ["generate_image", { ...IMAGE, prompt: 5 }, "prompt"],
    ["generate_image", { ...IMAGE, n: "2" }, "n"],
    ["generate_image", { ...IMAGE, model: 7 }, "model"],
    ["generate_image", { ...IMAGE, size: 8 }, "size"],
    ["generate_image", { ...IMAGE, idempotencyKey: 9 }, "idempotencyKey"],
  ])("%s of %j names the argument of the wrong type", async (name, args, field) => {
    const { error } = textIn(await call(await connect((await newOwner()).secret), name, args));
    expect(error).toMatchObject({ code: expect.any(String), field });
    expect(error.message).toContain(`"$${field}"`);
  });

  test("that are unknown, or have unknown arguments, are errors of the protocol", async () => {
    const client = await connect((await newOwner()).secret);
    await expect(call(client, "drop_tables")).rejects.toMatchObject({ code: -32602 });
    const unknown = await call(client, "generate_image", { ...IMAGE, colour: "red" });
    expect(textIn(unknown).error).toMatchObject({ code: "invalid_parameter", field: "colour" });
    await expect(client.listTools({ cursor: "-1" })).rejects.toMatchObject({
      code: -32602,
    });
    for (const cursor of ["x", "-1", "", "100"]) {
      await expect(client.listResources({ cursor })).rejects.toMatchObject({ code: -32602 });
      await expect(client.listResourceTemplates({ cursor })).rejects.toMatchObject({ code: -32602 });
    }
    await expect(client.listTools({ cursor: "x" })).rejects.toMatchObject({ code: -32602 });
  });

  test("a client that leaves does not end its job, which is charged once", async () => {
    const owner = await newOwner();
    services().images.behaviour = { delayMs: 300 };
    onTestFinished(() => {
      services().images.behaviour = {};
    });
    const leave = new AbortController();
    const options = { signal: leave.signal, onprogress: () => leave.abort() };
    const client = await connect(owner.secret);
    await expect(call(client, "generate_image", IMAGE, options)).rejects.toThrow();
    await requireAvailable(stack().app, owner, { available: RICH - 1_000n });
  });
});

describe("the endpoint", () => {
  const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${stack().origin}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body,
    });
  const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

  test.each<[string, string, Readonly<Record<string, string>>, number]>([
    ["no JSON", "{", {}, 400],
    ["a batch", `[${LIST}]`, {}, 400],
    ["deep nesting", "[".repeat(5_000), {}, 400],
    ["a wrong key", LIST, { authorization: "Bearer sk-none" }, 401],
    ["a page of another site", LIST, { origin: "https://evil.example" }, 403],
    [
      "a page whose name was rebound to this server",
      LIST,
      { origin: "http://evil.example", host: "evil.example" },
      403,
    ],
    ["an origin that is no URL", LIST, { origin: "null" }, 403],
    ["a client that accepts no events", LIST, { accept: "text/html" }, 406],
  ])("refuses %s", async (_what, body, headers, status) => {
    const reply = await post(body, headers);
    expect(reply.status).toBe(status);
    expect(await reply.text()).not.toContain("stack");
  });

  test("a body of 1 MiB is refused, and sessions are not offered", async () => {
    expect((await post(JSON.stringify({ ...JSON.parse(LIST), more: "a".repeat(1_048_576) }))).status).toBe(
      413,
    );
    for (const method of ["GET", "DELETE"])
      expect((await fetch(`${stack().origin}/mcp`, { method })).status, method).toBe(405);
  });

  test("another account's request is not found", async () => {
    const [owner, other] = [await newOwner(), await newOwner()];
    const chat = await call(await connect(owner.secret), "complete_chat", { model: MODEL, question: "hi" });
    const uri = `zerograph://requests/${textIn(chat).completeChat.completion.bill.requestId}`;
    const client = await connect(await reader(other));
    for (const wrong of [uri, "zerograph://requests/%zz", "zerograph://files/0x12", "file:///etc/passwd"])
      await expect(client.readResource({ uri: wrong }), wrong).rejects.toThrow();
  });
});

describe("a message that is not of the protocol", () => {
  const post = async (body: string) => {
    const reply = await fetch(`${stack().origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body,
    });
    return { status: reply.status, text: await reply.text() };
  };

  test.each([
    ["initialize", undefined, "params"],
    ["initialize", {}, "params.protocolVersion"],
    ["initialize", { protocolVersion: 1, capabilities: {}, clientInfo: {} }, "params.protocolVersion"],
    ["tools/list", { cursor: 1 }, "params.cursor"],
    ["tools/call", undefined, "params"],
    ["tools/call", { name: 1 }, "params.name"],
    ["resources/list", { cursor: {} }, "params.cursor"],
    ["resources/templates/list", { cursor: [] }, "params.cursor"],
    ["resources/read", {}, "params.uri"],
  ])("%s with the params %j is refused by the name of the field", async (method, params, field) => {
    const { status, text } = await post(JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }));
    const { id, error } = JSON.parse(text) as { id: unknown; error: { code: number; message: string } };
    expect([status, id, error.code]).toEqual([200, 7, -32602]);
    expect(error.message).toMatch(new RegExp(`^Invalid params: ${field}: [^\\n{]{1,200}$`));
  });

  test.each(["{", "nonsense", '{"jsonrpc":"2.0","jsonrpc":"2.0"}', `${"[".repeat(200)}${"]".repeat(200)}`])(
    "the body %j is a parse error",
    async (body) => {
      const { status, text } = await post(body);
      expect([status, JSON.parse(text)]).toEqual([
        400,
        {
          jsonrpc: "2.0",
          id: null,
          error: { code: -32700, message: expect.stringMatching(/^Parse error: /) },
        },
      ]);
    },
  );
});
