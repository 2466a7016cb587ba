import OpenAI, { toFile } from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import { requireAvailable } from "../../support/inference/bill.ts";
import { completion, sendJson, USAGE } from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const MODEL = "batch-model";
const START = 10_000_000n;
/** What a chat of the scripted provider costs at the first one. */
const COST = BigInt(USAGE.prompt_tokens) * PRICES[0].prompt + BigInt(USAGE.completion_tokens) * PRICES[0].completion;

const router = await useRouter({
  models: [MODEL],
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) => [
    {
      id: "embed",
      pricing: { prompt: "2" },
      service_type: "embedding",
    },
    { id: "text", pricing: { prompt: String(n + 1), completion: "3" }, supported_formats: ["openai", "completions"] },
  ],
});

let owner: Seeded;
let client: OpenAI;
beforeEach(async () => {
  owner = await router().seed(START);
  client = clientOf(owner);
  for (const provider of router().scripted) {
    provider.scripts.clear();
    provider.calls.length = 0;
  }
});

function clientOf({ secret }: Seeded): OpenAI {
  return new OpenAI({ baseURL: `${router().origin}/v1`, apiKey: secret, maxRetries: 0 });
}

const lineOf = (n: number, body: object = {}, url = "/v1/chat/completions") => ({
  custom_id: `request-${n}`,
  method: "POST",
  url,
  body: { model: MODEL, max_tokens: 20, messages: [{ role: "user", content: `Question ${n}` }], ...body },
});

const textOf = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

async function upload(text: string | Buffer, by = client) {
  return by.files.create({ file: await toFile(Buffer.from(text), "input.jsonl"), purpose: "batch" });
}

async function start(text: string | Buffer, endpoint: OpenAI.BatchCreateParams["endpoint"] = "/v1/chat/completions") {
  const file = await upload(text);
  return client.batches.create({ input_file_id: file.id, endpoint, completion_window: "24h" });
}

function ended(id: string, by = client) {
  return until(async () => {
    const batch = await by.batches.retrieve(id);
    return ["completed", "failed", "expired", "cancelled"].includes(batch.status) && batch;
  });
}

async function linesOf(fileId: string | null | undefined) {
  const text = await (await client.files.content(fileId ?? "")).text();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("with the official client", () => {
  test("a batch is run, billed to the neuron, and its answers are in the output file in order", async () => {
    const file = await upload(textOf([1, 2, 3, 4, 5].map((n) => lineOf(n))));
    expect(file).toMatchObject({ object: "file", purpose: "batch", filename: "input.jsonl", status: "processed" });
    const created = await client.batches.create({
      input_file_id: file.id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { job: "nightly" },
    });
    expect(created).toMatchObject({
      object: "batch",
      endpoint: "/v1/chat/completions",
      input_file_id: file.id,
      completion_window: "24h",
      status: "validating",
      errors: null,
      output_file_id: null,
      metadata: { job: "nightly" },
    });
    expect((created.expires_at ?? 0) - created.created_at).toBe(86_400);
    const batch = await ended(created.id);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { total: 5, completed: 5, failed: 0 },
      error_file_id: null,
    });
    for (const at of [batch.in_progress_at, batch.finalizing_at, batch.completed_at])
      expect(at).toBeGreaterThanOrEqual(created.created_at);
    const lines = await linesOf(batch.output_file_id);
    expect(lines.map(({ custom_id }) => custom_id)).toEqual([1, 2, 3, 4, 5].map((n) => `request-${n}`));
    for (const { id, response, error } of lines) {
      expect(id).toMatch(/^batch_req_/);
      expect(error).toBeNull();
      expect(response).toMatchObject({
        status_code: 200,
        request_id: id,
        body: { object: "chat.completion", usage: { total_tokens: USAGE.total_tokens } },
      });
      expect(response.body.x_0g_trace).toMatchObject({ request_id: id, billing: { total_cost: String(COST) } });
    }
    await requireAvailable(router().app, owner, { available: START - 5n * COST });
    expect(await client.files.retrieve(batch.output_file_id ?? "")).toMatchObject({ purpose: "batch_output" });
    const files = await Array.fromAsync(await client.files.list({ limit: 1 }));
    expect(files.map(({ purpose }) => purpose).toSorted()).toEqual(["batch", "batch_output"]);
    const batches = await Array.fromAsync(await client.batches.list({ limit: 1 }));
    expect(batches.map(({ id }) => id)).toEqual([created.id]);
    expect(await client.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
    await expect(client.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
  });
});
