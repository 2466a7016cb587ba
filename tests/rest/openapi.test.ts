// @module-tag large
import { readFileSync } from "node:fs";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, test } from "vitest";
import { drawImage } from "../../src/devnet/provider/endpoints/image.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { toOpenApi } from "../../src/rest/openapi/openapi.ts";
import { routes } from "../../src/rest/routes.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { MODEL } from "../support/chain/network.ts";
import { localSignIn, signInAs } from "../support/chain/sign-in.ts";
import { type OpenApi, OpenApiCheck } from "../support/clients/openapi.ts";
import { rest } from "../support/clients/rest-client.ts";
import { toWav } from "../support/inference/wav.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { encodeFolder } from "../support/storage/folder.ts";
import { type PublishedFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const MAX_TURN_MS = 50;
const ENDLESS_MS = 3_600_000;
const stack = useStack({ JOBS_PARALLEL: "1" });
const services = useServices(stack, [
  "messages",
  "images",
  "edits",
  "speech",
  "embeddings",
  "voice",
  "rerank",
]);
const check = new OpenApiCheck(toOpenApi(routes) as OpenApi);

/** The callers: a key of each kind of an account with balance, and a signed-in wallet. */
type World = { readonly sk: string; readonly mk: string; readonly session: string; readonly account: string };

/** A call that succeeds. `path` replaces the operation's own path where it differs. */
type Call = {
  readonly as?: keyof Omit<World, "account">;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

const messages = [{ role: "user", content: "Hello" }];
const chat = { model: MODEL, messages, max_tokens: 3 };
const picture = { model: SERVICES.images.model, prompt: "a sea", size: "16x8" };
const NOBODY = "http://127.0.0.1:1/";
const newWallet = () => privateKeyToAccount(generatePrivateKey());

let names = 0;
const newName = () => `key ${++names}`;

/** One successful call for each operation, and more where its answer has several shapes. */
const CALLS: Readonly<Record<string, readonly ((world: World) => Promise<Call> | Call)[]>> = {
  "POST /v1/chat/completions": [
    () => ({ as: "sk", body: chat }),
    () => ({ as: "sk", body: { ...chat, stream: true } }),
  ],
  "POST /v1/responses": [
    () => ({ as: "sk", body: { model: MODEL, input: "Hello", max_output_tokens: 3 } }),
    () => ({ as: "sk", body: { model: MODEL, input: "Hello", stream: true } }),
  ],
  "POST /v1/completions": [
    () => ({ as: "sk", body: { model: SERVICES.messages.model, prompt: "Hello", max_tokens: 3 } }),
    () => ({ as: "sk", body: { model: SERVICES.messages.model, prompt: "Hello", stream: true } }),
  ],
  "POST /v1/messages": [
    () => ({ as: "sk", body: { ...chat, model: SERVICES.messages.model } }),
    () => ({ as: "sk", body: { ...chat, model: SERVICES.messages.model, stream: true } }),
  ],
  "POST /v1/messages/count_tokens": [
    () => ({ as: "sk", body: { model: SERVICES.messages.model, messages } }),
  ],
  "POST /v1/images/generations": [
    () => ({ as: "sk", body: picture }),
    () => ({ as: "sk", body: { ...picture, verify_tee: true } }),
  ],
  "POST /v1/images/edits": [() => ({ as: "sk", body: editForm() })],
  "POST /v1/async/images/generations": [() => ({ as: "sk", body: picture })],
  "POST /v1/async/images/edits": [() => ({ as: "sk", body: editForm() })],
  "GET /v1/async/jobs": [
    async (world) => {
      await doneJob(world);
      return { as: "sk", path: "/v1/async/jobs?limit=1" };
    },
    () => ({ as: "mk" }),
  ],
  "GET /v1/async/jobs/{jobId}": [
    async (world) => ({ as: "sk", path: `/v1/async/jobs/${await newJob(world)}` }),
    async (world) => ({ as: "sk", path: `/v1/async/jobs/${await doneJob(world)}` }),
  ],
  "DELETE /v1/async/jobs/{jobId}": [
    async (world) => ({ as: "sk", path: `/v1/async/jobs/${await waitingJob(world)}` }),
  ],
  "POST /v1/files": [() => ({ as: "sk", body: batchForm("{}") })],
  "GET /v1/files": [() => ({ as: "sk", path: "/v1/files?limit=1" })],
  "GET /v1/files/{id}": [async (world) => ({ as: "mk", path: `/v1/files/${await batchFile(world)}` })],
  "GET /v1/files/{id}/content": [
    async (world) => ({ as: "sk", path: `/v1/files/${await batchFile(world)}/content` }),
  ],
  "DELETE /v1/files/{id}": [async (world) => ({ as: "sk", path: `/v1/files/${await batchFile(world)}` })],
  "POST /v1/batches": [async (world) => ({ as: "sk", body: await newBatch(world) })],
  "GET /v1/batches": [() => ({ as: "mk", path: "/v1/batches?limit=1" })],
  "GET /v1/batches/{id}": [
    async (world) => ({ as: "sk", path: `/v1/batches/${await endedBatch(world, "{}")}` }),
    async (world) => ({ as: "sk", path: `/v1/batches/${await endedBatch(world, BATCH_LINE)}` }),
  ],
  "POST /v1/batches/{id}/cancel": [
    async (world) => ({ as: "sk", path: `/v1/batches/${await openBatch(world)}/cancel`, body: {} }),
  ],
  "POST /v1/audio/transcriptions": [
    ...["json", "verbose_json", "text", "srt", "vtt"].map((format) => () => ({
      as: "sk" as const,
      body: soundForm(format),
    })),
    () => ({
      as: "sk",
      body: { model: SERVICES.speech.model, file_base64: toWav(1).toString("base64"), filename: "a.wav" },
    }),
  ],
  "POST /v1/audio/speech": ["wav", "pcm"].map((response_format) => () => ({
    as: "sk" as const,
    body: { model: SERVICES.voice.model, input: "a sea", voice: "alloy", response_format },
  })),
  "POST /v1/rerank": [
    () => ({
      as: "sk",
      body: { model: SERVICES.rerank.model, query: "sea", documents: ["a", { text: "b" }] },
    }),
  ],
  "POST /v1/embeddings": ["float", "base64"].map((encoding_format) => () => ({
    as: "sk" as const,
    body: { model: SERVICES.embeddings.model, input: ["a sea", "a road"], encoding_format },
  })),
  "GET /v1/receipts/checkpoint": [
    async (world) => {
      await receiptedChat(world);
      return {};
    },
  ],
  "GET /v1/receipts/consistency": [
    async (world) => {
      await receiptedChat(world);
      return { path: "/v1/receipts/consistency?from=0" };
    },
  ],
  "GET /v1/receipts/key": [() => ({})],
  "GET /v1/receipts/{requestId}": [
    async (world) => ({ as: "sk", path: `/v1/receipts/${await receiptedChat(world)}` }),
  ],
  "POST /v1/routing/preview": [
    () => ({ as: "sk", body: { service_type: "chatbot" } }),
    () => ({ as: "sk", body: { service_type: "text-to-image", model: SERVICES.images.model } }),
  ],
  "GET /v1/models": [() => ({})],
  "GET /v1/models/{model}": [() => ({ path: `/v1/models/${MODEL}` })],
  "GET /v1/service-types": [() => ({})],
  "GET /v1/providers": [() => ({})],
  "GET /v1/auth/nonce": [() => ({})],
  "POST /v1/auth/signin": [async () => ({ body: await signedMessage() })],
  "POST /v1/auth/signout": [async () => ({ as: "session", body: {} })],
  "GET /v1/auth/me": [() => ({ as: "session" })],
  "GET /v1/api-keys": [() => ({ as: "mk", path: "/v1/api-keys?limit=1" })],
  "POST /v1/api-keys": [
    () => ({ as: "mk", body: { name: newName(), credit_limit: "1.5", trust_mode: "verified" } }),
    () => ({ as: "mk", body: { name: newName(), expiration: "2126-01-01T00:00:00Z" } }),
  ],
  "PATCH /v1/api-keys/{id}": [
    async (world) => ({
      as: "mk",
      path: `/v1/api-keys/${await newApiKey(world)}`,
      body: { label: newName() },
    }),
  ],
  "DELETE /v1/api-keys/{id}": [
    async (world) => ({ as: "mk", path: `/v1/api-keys/${await newApiKey(world)}` }),
  ],
  "GET /v1/management-keys": [() => ({ as: "session" })],
  "POST /v1/management-keys": [
    () => ({ as: "session", body: { name: newName(), preset: "read-only" } }),
    () => ({ as: "session", body: { name: newName(), scopes: ["keys:create"] } }),
  ],
  "PATCH /v1/management-keys/{id}": [
    async (world) => ({
      as: "session",
      path: `/v1/management-keys/${await newManagementKey(world)}`,
      body: { name: newName() },
    }),
  ],
  "DELETE /v1/management-keys/{id}": [
    async (world) => ({ as: "session", path: `/v1/management-keys/${await newManagementKey(world)}` }),
  ],
  "GET /v1/tag-budgets": [() => ({ as: "mk" })],
  "POST /v1/tag-budgets": [
    () => ({ as: "mk", body: { name: "team", value: newName(), credit_limit: 0.5, reset_period: null } }),
  ],
  "GET /v1/tag-budgets/{id}": [async (world) => ({ as: "session", path: await tagBudget(world) })],
  "PATCH /v1/tag-budgets/{id}": [
    async (world) => ({
      as: "session",
      path: await tagBudget(world),
      body: { credit_limit: "2", reset_period: "weekly" },
    }),
  ],
  "DELETE /v1/tag-budgets/{id}": [async (world) => ({ as: "session", path: await tagBudget(world) })],
  "GET /v1/webhooks": [() => ({ as: "mk" })],
  "POST /v1/webhooks": [
    () => ({
      as: "mk",
      body: { name: newName(), url: NOBODY, events: ["balance.low"], balance_threshold: "5" },
    }),
  ],
  "GET /v1/webhooks/{id}": [async (world) => ({ as: "session", path: await webhook(world) })],
  "PATCH /v1/webhooks/{id}": [
    async (world) => ({ as: "session", path: await webhook(world), body: { enabled: false } }),
    async (world) => ({ as: "session", path: await webhook(world), body: { enabled: true, name: null } }),
  ],
  "DELETE /v1/webhooks/{id}": [async (world) => ({ as: "session", path: await webhook(world) })],
  "GET /v1/webhooks/{id}/attempts": [
    async (world) => ({ as: "session", path: `${await webhook(world)}/attempts` }),
  ],
  "POST /v1/webhooks/{id}/test": [async (world) => ({ as: "session", path: `${await webhook(world)}/test` })],
  "POST /v1/webhooks/{id}/rotate-secret": [
    async (world) => ({ as: "session", path: `${await webhook(world)}/rotate-secret`, body: {} }),
  ],
  "POST /v1/webhooks/{id}/replay": [
    async (world) => ({
      as: "session",
      path: `${await webhook(world)}/replay`,
      body: { after: stack().app.events.cursorAt(await stack().app.events.now()) },
    }),
  ],
  "GET /v1/account": [() => ({ as: "mk" })],
  "GET /v1/account/balance": [() => ({ as: "mk" }), () => ({ as: "session" })],
  "GET /v1/account/funds": [() => ({ as: "mk" })],
  "GET /v1/account/usage/stats": [() => ({ as: "mk" })],
  "GET /v1/account/usage/daily": [
    () => ({ as: "mk" }),
    () => ({ as: "mk", path: "/v1/account/usage/daily?dimensions=trust_mode" }),
  ],
  "GET /v1/account/usage/tags": [
    () => ({ as: "mk" }),
    () => ({ as: "mk", path: "/v1/account/usage/tags?name=team&limit=1" }),
  ],
  "GET /v1/account/usage/history": [
    () => ({ as: "mk" }),
    () => ({ as: "mk", path: "/v1/account/usage/history?limit=1&include_total=true" }),
  ],
  "GET /v1/generation": [
    async (world) => ({ as: "sk", path: `/v1/generation?id=${await receiptedChat(world)}` }),
  ],
  "GET /v1/key": [() => ({ as: "sk" })],
  "GET /v1/credits": [() => ({ as: "sk" }), () => ({ as: "mk" })],
  "GET /file": [
    async () => ({ path: `/file?root=${(await storedFolder()).a.root}` }),
    async () => ({ path: `/file?root=${(await storedFolder()).a.root}&withProof=true` }),
    ...["", "&withProof=true"].map((proof) => async () => ({
      path: `/file?root=${(await storedFolder()).a.root}${proof}`,
      headers: { range: "bytes=0-9" },
    })),
    async () => ({ path: `/file?root=${(await storedFolder()).a.root}`, headers: { "if-none-match": "*" } }),
  ],
  "GET /file/info/{cid}": [async () => ({ path: `/file/info/${(await storedFolder()).a.root}` })],
  "GET /files/info": [
    async () => ({ path: `/files/info?cid=${(await storedFolder()).a.root}&cid=99999&cid=x` }),
  ],
  "POST /file/segment": [
    async () => {
      const { a } = await storedFolder();
      const [first] = a.segments;
      return { body: { root: a.root, ...first } };
    },
  ],
  "GET /file/{root}": [async () => ({ path: `/file/${(await storedFolder()).folder.root}` })],
  "GET /file/{root}/{path}": [
    async () => ({ path: `/file/${(await storedFolder()).folder.root}/sub` }),
    async () => ({ path: `/file/${(await storedFolder()).folder.root}/sub/a` }),
    ...[{ range: "bytes=0-9" }, { "if-none-match": "*" }].map((headers) => async () => ({
      path: `/file/${(await storedFolder()).folder.root}/sub/a`,
      headers,
    })),
    async () => ({ path: `/file/${(await storedFolder()).folder.root}/link` }),
  ],
  "GET /node/status": [() => ({})],
  "POST /": [
    () => ({ body: { jsonrpc: "2.0", id: 1, method: "zgs_getStatus" } }),
    () => ({ body: [{ jsonrpc: "2.0", id: "a", method: "kv_getValue", params: [] }] }),
  ],
};

/** A chat with verified evidence, and its receipt under a signed head. Returns the id of the request. */
async function receiptedChat({ sk }: World): Promise<string> {
  const { origin } = stack();
  type Answer = { x_0g_trace: { request_id: string } };
  const body = { ...chat, verify_tee: true };
  const { body: answer } = await rest<Answer>(origin, "/v1/chat/completions", sk, { body });
  const { request_id: id } = answer.x_0g_trace;
  await until(async () => (await rest(origin, `/v1/receipts/${id}`, sk)).status === 200);
  return id;
}

let stored: Promise<{ readonly a: PublishedFile; readonly folder: PublishedFile }> | undefined;

/** A folder with a file and a link, stored once for all calls. */
function storedFolder() {
  stored ??= (async () => {
    const publisher = await startPublisher(stack());
    const a = await publisher.publish(Buffer.from("a file"));
    const entries = [
      { name: "link", type: "symbolic", link: "sub/a" },
      {
        name: "sub",
        type: "directory",
        entries: [{ name: "a", type: "file", roots: [a.root], size: a.sizeBytes }],
      },
    ];
    const folder = await publisher.publish(encodeFolder({ name: "/", type: "directory", entries }));
    return { a, folder };
  })();
  return stored;
}

describe("the description", () => {
  test("is served, and is the committed one", async () => {
    const reply = await fetch(`${stack().origin}/openapi.json`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual(JSON.parse(JSON.stringify(toOpenApi(routes))));
  });

  test("describes what every route reads and answers", () => {
    const silent = routes.filter(
      ({ answer, method, bodies }) =>
        !(answer?.json || answer?.media) || (method === "PATCH" && Object.keys(bodies).length === 0),
    );
    expect(silent.map(({ method, url }) => `${method} ${url} has no answer in defineRoute`)).toEqual([]);
    expect(check.operations.length).toBe(routes.length);
  });

  test("consists of valid schemas, and names each operation once", () => {
    expect(check.compileAll()).toBeGreaterThan(10);
    const ids = check.operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [name, { parameters }] of check.operations)
      for (const [, variable] of name.matchAll(/\{(\w+)\}/g))
        expect(parameters).toContainEqual(expect.objectContaining({ name: variable, in: "path" }));
  });

  test("refuses what is not described", () => {
    const balance = { address: `0x${"0".repeat(40)}`, balance: 1 };
    const faults = check.faults("GET /v1/account/balance", 200, "application/json", JSON.stringify(balance));
    expect(faults.join("\n")).toMatch(/\/balance must be string/);
    expect(faults.join("\n")).toMatch(/total_balance/);
    expect(check.faults("GET /v1/account", 200, "text/html", "")).toEqual([
      "200 of type text/html is not described",
    ]);
  });
});

describe("answers are as described:", () => {
  let world: World;
  beforeAll(async () => {
    const { account, secret } = await seedAccount(stack().app.database, 10n ** 18n);
    const { secret: mk } = await stack().app.managementKeys.create(account, "all", SCOPES);
    const { token } = await signInAs(stack().origin, newWallet());
    world = { account, sk: secret, mk, session: token };
    // Rows for the lists.
    await ask("POST /v1/chat/completions", { as: "sk", body: chat });
    await ask("POST /v1/management-keys", { as: "session", body: { name: newName(), preset: "full-admin" } });
  });

  test.each(check.operations.map(([name]) => name))("%s", async (name) => {
    const calls = CALLS[name];
    if (!calls) throw new Error(`add a call of ${name} to tests/rest/openapi.test.ts`);
    for (const makeCall of calls) {
      const call = await makeCall(world);
      const { status, faults } = await ask(name, call);
      expect(faults, JSON.stringify(call)).toEqual([]);
      expect(status < 300 || status === 304, JSON.stringify(call)).toBe(true);
      if (name === "POST /v1/auth/signout")
        world = { ...world, session: (await signInAs(stack().origin, newWallet())).token };
    }
  });

  test.each(check.operations.map(([name]) => name))("%s, refused", async (name) => {
    const { status, faults } = await ask(name, { body: "{" });
    expect(faults).toEqual([]);
    expect([200, 401, name.startsWith("GET /v1/models/") ? 404 : 400]).toContain(status);
  });

  async function ask(name: string, call: Call) {
    const [method = "", template = ""] = name.split(" ");
    const { as, path = template.replace(/\{\w+\}/g, "none"), body, headers } = call;
    const sendsBody = body !== undefined && method !== "GET" && method !== "DELETE";
    const isForm = body instanceof FormData;
    const reply = await fetch(stack().origin + path, {
      method,
      headers: {
        ...headers,
        ...(as && { authorization: `Bearer ${world[as]}` }),
        ...(sendsBody && !isForm && { "content-type": "application/json" }),
      },
      ...(sendsBody && { body: typeof body === "string" || isForm ? body : JSON.stringify(body) }),
    });
    const type = reply.headers.get("content-type") ?? "";
    return { status: reply.status, faults: check.faults(name, reply.status, type, await reply.text()) };
  }
});

async function signedMessage() {
  const wallet = newWallet();
  const { nonce } = (await (await fetch(`${stack().origin}/v1/auth/nonce`)).json()) as { nonce: string };
  const message = localSignIn(wallet.address, nonce);
  return { message, signature: await wallet.signMessage({ message }) };
}

async function newApiKey({ account }: World): Promise<string> {
  return (await stack().app.apiKeys.create(account, newName())).key.id;
}

async function newManagementKey({ session }: World): Promise<string> {
  const principal = await stack().app.authenticate(`Bearer ${session}`);
  if (principal.kind !== "wallet-session") throw new Error("not a session");
  return (await stack().app.managementKeys.create(principal.account, newName(), SCOPES)).key.id;
}

/** The path of the budget of a new tag. */
async function tagBudget({ session }: World): Promise<string> {
  const principal = await stack().app.authenticate(`Bearer ${session}`);
  if (principal.kind !== "wallet-session") throw new Error("not a session");
  const tag = { name: "team", value: newName() };
  return `/v1/tag-budgets/${(await stack().app.tagBudgets.create(principal.account, { ...tag, creditLimit: 1n })).id}`;
}

/** The path of a new webhook of the caller, which replaces the one before it. */
async function webhook({ session }: World): Promise<string> {
  const { webhooks } = stack().app;
  const principal = await stack().app.authenticate(`Bearer ${session}`);
  if (principal.kind !== "wallet-session") throw new Error("not a session");
  for (const { id } of await webhooks.list(principal.account)) await webhooks.delete(principal, id);
  const input = { name: newName(), url: NOBODY, events: ["job.ended"] } as const;
  return `/v1/webhooks/${(await webhooks.create(principal, input)).webhook.id}`;
}

function editForm(): FormData {
  const form = new FormData();
  form.set("model", SERVICES.edits.model);
  form.set("prompt", "a storm");
  form.set("image", new Blob([new Uint8Array(drawImage("a sea", { width: 16, height: 8 }))]), "sea.png");
  return form;
}

function soundForm(format: string): FormData {
  const form = new FormData();
  form.set("model", SERVICES.speech.model);
  form.set("response_format", format);
  form.set("file", new Blob([new Uint8Array(toWav(1))]), "sound.wav");
  return form;
}

/** A pending job: the only worker is busy with another one, until the end of the test. */
async function waitingJob(world: World): Promise<string> {
  const endless = await newJob(world, ENDLESS_MS);
  await untilStatus(world, endless, "processing");
  // The provider may receive the first job only now: it has to be as slow for both.
  return newJob(world, ENDLESS_MS);
}

async function newJob({ sk }: World, processingMs = 50): Promise<string> {
  services().images.behaviour = { jobs: { processingMs, retryAfterSeconds: 0 } };
  const { body } = await rest<{ jobId: string }>(stack().origin, "/v1/async/images/generations", sk, {
    body: picture,
  });
  return body.jobId;
}

async function doneJob(world: World): Promise<string> {
  const id = await newJob(world);
  await untilStatus(world, id, "completed");
  return id;
}

function untilStatus({ sk }: World, id: string, status: string): Promise<true> {
  return until(async () => {
    const { body } = await rest<{ status: string }>(stack().origin, `/v1/async/jobs/${id}`, sk);
    return body.status === status;
  });
}

const BATCH_LINE = JSON.stringify({
  custom_id: "1",
  method: "POST",
  url: "/v1/chat/completions",
  body: chat,
});

/** More than are answered before the next call. */
const MANY_LINES = Array.from({ length: 5_000 }, (_, n) =>
  BATCH_LINE.replace('"custom_id":"1"', `"custom_id":"${n}"`),
).join("\n");

function batchForm(text: string): FormData {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([text]), "input.jsonl");
  return form;
}

/** Uploads an input, and returns its id. */
async function batchFile({ sk }: World, text = "{}"): Promise<string> {
  const headers = { authorization: `Bearer ${sk}` };
  const reply = await fetch(`${stack().origin}/v1/files`, { method: "POST", headers, body: batchForm(text) });
  return ((await reply.json()) as { id: string }).id;
}

async function newBatch(world: World, text?: string) {
  const endpoint = "/v1/chat/completions";
  return { input_file_id: await batchFile(world, text), endpoint, completion_window: "24h" };
}

/** Creates a batch whose input is checked for a while. */
async function openBatch(world: World, text = MANY_LINES): Promise<string> {
  const body = await newBatch(world, text);
  return (await rest<{ id: string }>(stack().origin, "/v1/batches", world.sk, { body })).body.id;
}

async function endedBatch(world: World, text: string): Promise<string> {
  const id = await openBatch(world, text);
  await until(async () => {
    const { body } = await rest<{ status: string }>(stack().origin, `/v1/batches/${id}`, world.sk);
    return body.status === "failed" || body.status === "completed";
  });
  return id;
}

test("a trace without a verdict omits the member, and never has null", () => {
  const { Trace } = (toOpenApi(routes) as OpenApi).components.schemas;
  expect(Trace).toMatchObject({ properties: { tee_verified: { type: "boolean" } } });
  expect(Trace?.required).not.toContain("tee_verified");
});

test("the document is generated once and served unchanged, as JSON and YAML", async () => {
  const { origin } = stack();
  const document = JSON.parse(readFileSync("schema/openapi.json", "utf8"));
  const reply = await fetch(`${origin}/docs/json`);
  expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(await reply.json()).toEqual(document);
  let yaml = "";
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    yaml = await (await fetch(`${origin}/docs/yaml`)).text();
  });
  expect(yaml).toMatch(/^openapi: /);
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});
