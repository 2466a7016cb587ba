// @module-tag large
import { createHash } from "node:crypto";
import { createClient } from "redis";
import { beforeAll, expect, inject, test } from "vitest";
import { hashRequest } from "../../src/idempotency/canonical-body.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { readRedisKey } from "../support/audit.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask } from "../support/clients/graph-client.ts";
import { toWav } from "../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { borrowServerDatabase } from "../support/servers/database.ts";
import { startRedis } from "../support/servers/redis.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

let redisUrl = "";
const stack = useStack(async (onEnd) => {
  if (!inject("postgresUrl") || !inject("redisUrl")) return {};
  const redis = await startRedis();
  onEnd(() => redis.stop());
  redisUrl = redis.url;
  return { REDIS_URL: redisUrl, DATABASE_URL: await borrowServerDatabase(onEnd) };
});
const services = useServices(stack, ["images", "messages", "speech"]);

/** A text that occurs nowhere else. */
const unique = (word: string) => `${word}-${newId()}`;

/** A call with an `Idempotency-Key`: the texts sent, and texts of the answer. */
type Call = {
  readonly prompt: string;
  readonly key: string;
  readonly body: string | undefined;
  readonly answers: readonly string[];
};

type FinishedJob = {
  readonly status: string;
  readonly data: { readonly data: readonly [{ readonly b64_json: string }] };
};

let customer: Seeded;
beforeAll(async () => {
  customer = await seedAccount(stack().app.database, 10n ** 9n);
});

async function post(path: string, body: object, prompt: string): Promise<Call & { readonly text: string }> {
  const key = unique("key");
  const send = () =>
    fetch(stack().origin + path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${customer.secret}`,
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
    });
  const first = await send();
  const text = await first.text();
  expect(first.status, text).toBeLessThan(300);
  const again = await until(async () => {
    const reply = await send();
    return reply.status !== 409 && reply;
  });
  expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", text]);
  return { prompt, key, body: JSON.stringify(body), text, answers: [] };
}

async function mutate(field: string, input: string, wants: string, prompt: string) {
  const key = unique("key");
  const keyed = input.replace(/ }$/, ", idempotencyKey: $key }");
  const query = `mutation($key: String) { ${field}(input: ${keyed}) { ${wants} } }`;
  const first = await ask(stack().origin, customer.secret, query, { key });
  expect(first.errors).toBeUndefined();
  const again = await ask(stack().origin, customer.secret, query, { key });
  expect(again.data).toEqual(first.data);
  return { prompt, key, body: undefined, data: first.data[field] };
}

/** Where a text is in the database: `table.column`, as text, as JSON or as bytes. */
async function placesOf(needle: string): Promise<readonly string[]> {
  const { database } = stack().app;
  const columns = await database.rows<{ name: string; column: string; type: string }>(
    `select table_name as name, column_name as column, data_type as type from information_schema.columns
     where table_schema = 'public'
       and table_name in (select tablename from pg_tables where schemaname = 'public')`,
  );
  expect(columns.length).toBeGreaterThan(100);
  const selects = columns.map(
    ({ name, column, type }) =>
      `select '${name}.${column}' as place where exists (select 1 from public."${name}" where
        ${type === "bytea" ? `position(convert_to($1::text, 'UTF8') in "${column}")` : `position($1::text in "${column}"::text)`} > 0)`,
  );
  const found = await database.rows<{ place: string }>(selects.join(" union all "), [needle]);
  return found.map(({ place }) => place).toSorted();
}

async function inRedis(): Promise<string> {
  if (!redisUrl) return "";
  const client = createClient({ url: redisUrl });
  await client.connect();
  const texts: string[] = [];
  for await (const keys of client.scanIterator({ COUNT: 1_000 }))
    for (const key of keys) texts.push(`${key} ${await readRedisKey(client, key)}`);
  client.destroy();
  return texts.join("\n");
}

async function imageJob(): Promise<readonly { readonly call: Call; readonly id: string }[]> {
  const prompts = [unique("job"), unique("job")] as const;
  const model = SERVICES.images.model;
  const submitted = await post(
    "/v1/async/images/generations",
    { model, prompt: prompts[0], size: "8x8" },
    prompts[0],
  );
  const input = `{ model: "${model}", prompt: "${prompts[1]}", size: "8x8" }`;
  const mutated = await mutate("submitImageJob", input, "imageJob { jobId }", prompts[1]);
  return [
    { call: submitted, id: JSON.parse(submitted.text).jobId },
    { call: { ...mutated, answers: [] }, id: mutated.data.imageJob.jobId },
  ];
}

async function answeredCalls(): Promise<readonly Call[]> {
  const [whole, streamed, message, image, asked, drawn] = Array.from({ length: 6 }, () =>
    unique("prompt"),
  ) as [string, string, string, string, string, string];
  const chat = (content: string, more: object = {}) => ({
    model: MODEL,
    max_tokens: 40,
    messages: [{ role: "user", content }],
    ...more,
  });
  const wav = toWav(2).toString("base64");
  const first = await post("/v1/chat/completions", chat(whole), whole);
  const second = await post("/v1/chat/completions", chat(streamed, { stream: true }), streamed);
  const third = await post("/v1/messages", { ...chat(message), model: SERVICES.messages.model }, message);
  const fourth = await post(
    "/v1/images/generations",
    { model: SERVICES.images.model, prompt: image, size: "8x8" },
    image,
  );
  const fifth = await post(
    "/v1/audio/transcriptions",
    { model: SERVICES.speech.model, file_base64: wav, filename: "a.wav", response_format: "json" },
    wav.slice(-200, -100),
  );
  const sixth = await mutate(
    "completeChat",
    `{ model: "${MODEL}", messages: [{ role: "user", content: "${asked}" }], maxTokens: 40 }`,
    "completion { choices { text } }",
    asked,
  );
  const seventh = await mutate(
    "generateImages",
    `{ model: "${SERVICES.images.model}", prompt: "${drawn}", size: "8x8" }`,
    "images { b64Json }",
    drawn,
  );
  const eighth = await mutate(
    "transcribeAudio",
    `{ model: "${SERVICES.speech.model}", fileBase64: "${wav}", language: "de" }`,
    "transcription { text }",
    wav.slice(-200, -100),
  );
  const events = second.text.split("\n").filter((line) => line.includes('"content"'));
  return [
    { ...first, answers: [JSON.parse(first.text).choices[0].message.content] },
    { ...second, answers: events },
    { ...third, answers: [JSON.parse(third.text).content[0].text] },
    { ...fourth, answers: [JSON.parse(fourth.text).data[0].b64_json] },
    { ...fifth, answers: [JSON.parse(fifth.text).text] },
    { ...sixth, answers: [sixth.data.completion.choices[0].text] },
    { ...seventh, answers: [seventh.data.images[0].b64Json] },
    { ...eighth, answers: [eighth.data.transcription.text] },
  ];
}

/** Texts from which a reader of the database could learn, or test a guess of, what was sent with a key. */
async function tracesOf({ prompt, key, body, answers }: Call): Promise<readonly string[]> {
  const hashes =
    body === undefined
      ? []
      : [await hashRequest({}, Buffer.from(body)), createHash("sha256").update(body).digest("hex")];
  const images = answers.flatMap((text) => (text.length > 20 ? [text] : []));
  return [prompt, key, customer.secret, ...hashes, ...images];
}

test("the request and the answer of a call with an Idempotency-Key are in no table, no log line and no Redis stream", async () => {
  const calls = await answeredCalls();
  for (const call of calls) expect((await tracesOf(call)).length).toBeGreaterThan(3);
  const [logged, streamed] = [stack().logged(), await inRedis()];
  for (const needle of (await Promise.all(calls.map(tracesOf))).flat()) {
    expect([needle, await placesOf(needle)]).toEqual([needle, []]);
    expect(logged).not.toContain(needle);
    expect(streamed).not.toContain(needle);
  }
  expect(await placesOf(customer.account)).toContain("idempotency_key.account");
});

test("the prompt of an image job is only in job_content until the job ends, and its images until they expire", async () => {
  services().images.behaviour = { jobs: { processingMs: 60_000, retryAfterSeconds: 0 } };
  const jobs = await imageJob();
  for (const { call } of jobs) {
    expect(await placesOf(call.prompt)).toEqual(["job_content.request"]);
    for (const needle of (await tracesOf(call)).slice(1)) expect(await placesOf(needle)).toEqual([]);
  }
  services().images.behaviour = { jobs: { processingMs: 10, retryAfterSeconds: 0 } };
  const finished = await imageJob();
  for (const { call, id } of finished) {
    const { data } = await until(async () => {
      const reply = await fetch(`${stack().origin}/v1/async/jobs/${id}`, {
        headers: { authorization: `Bearer ${customer.secret}` },
      });
      const body = (await reply.json()) as FinishedJob;
      return body.status === "completed" && body;
    });
    expect(await placesOf(call.prompt)).toEqual([]);
    expect(await placesOf(data.data[0].b64_json.slice(0, 60))).toEqual(["job_content.result"]);
  }
  const [logged, streamed] = [stack().logged(), await inRedis()];
  const traces = await Promise.all([...jobs, ...finished].map(({ call }) => tracesOf(call)));
  for (const needle of traces.flat()) {
    expect(logged).not.toContain(needle);
    expect(streamed).not.toContain(needle);
  }
});

test("a provider error that quotes the prompt is stored where operations.md says, and never logged", async () => {
  const prompt = unique("quoted");
  services().images.behaviour = {
    jobs: { processingMs: 10, retryAfterSeconds: 0, failure: `The prompt ${prompt} was refused` },
  };
  const model = SERVICES.images.model;
  const { text } = await post("/v1/async/images/generations", { model, prompt, size: "8x8" }, prompt);
  const id = JSON.parse(text).jobId;
  await until(async () => (await stack().app.jobs.get(customer, id)).finishedAt !== null);
  services().images.behaviour = {};
  expect(await placesOf(prompt)).toEqual(["job.checkpoint", "job.step", "outbox.data"]);
  const chat = unique("quoted");
  for (const status of [400, 500]) {
    const body = JSON.stringify({ error: { message: `The prompt ${chat} was refused` } });
    stack().provider.behaviour = { instead: { status, contentType: "application/json", body } };
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${customer.secret}`,
        "idempotency-key": unique("key"),
      },
      body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: chat }] }),
    });
    expect(reply.status).toBeGreaterThanOrEqual(400);
  }
  stack().provider.behaviour = {};
  expect(await placesOf(chat)).toEqual([]);
  for (const needle of [prompt, chat]) expect(stack().logged()).not.toContain(needle);
  expect(await inRedis()).not.toContain(chat);
});
