import { beforeEach, describe, expect, test } from "vitest";
import { formatToken } from "../../../src/kernel/text/amount.ts";
import { requireAvailable } from "../inference/bill.ts";
import { completion, sendJson, USAGE } from "../inference/scripted-provider.ts";
import { PATIENT_PROVIDERS } from "../patient-providers.ts";
import { PRICES, useRouter } from "../router.ts";
import type { Seeded } from "../seed.ts";
import type { DatabaseKind } from "../servers/database.ts";
import { until } from "../until.ts";
import { BatchClient, chatLine, inputOf, linesBegun, numbers } from "./batch-world.ts";

const MODEL = "batch-model";
const START = 10_000_000n;
/** What a chat costs at the first provider. */
const COST =
  BigInt(USAGE.prompt_tokens) * PRICES[0].prompt + BigInt(USAGE.completion_tokens) * PRICES[0].completion;
const lineOf = (n: number, body: object = {}) => chatLine(n, MODEL, body);

/** The tests of batches over one kind of database. Call it at the top level of a test file. */
export async function batchSuite(database: DatabaseKind): Promise<void> {
  const router = await useRouter({
    models: [MODEL],
    database,
    settings: {
      ...PATIENT_PROVIDERS,
      PROVIDER_COOL_DOWN_MS: "1",
      BATCH_FILE_MIB: "16",
      BATCH_FILES_MIB: "20",
    },
    more: () => [
      { id: "embed", pricing: { prompt: "2" }, service_type: "embedding" },
      {
        id: "text",
        pricing: { prompt: "2", completion: "3" },
        supported_formats: ["openai", "completions"],
      },
    ],
  });

  let owner: Seeded;
  let client: BatchClient;
  beforeEach(async () => {
    owner = await router().seed(START);
    client = new BatchClient(router(), owner);
    for (const provider of router().scripted) {
      provider.scripts.clear();
      provider.calls.length = 0;
    }
  });

  describe(`batches (${database})`, () => {
    test("a batch is billed to the neuron, and its output has the answers in order", async () => {
      const file = await client.upload(inputOf(numbers(12).map((n) => lineOf(n))));
      expect(file).toMatchObject({ object: "file", purpose: "batch", filename: "input.jsonl" });
      const created = await client.openai.batches.create({
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
      const batch = await client.ended(created.id);
      expect(batch).toMatchObject({
        status: "completed",
        request_counts: { total: 12, completed: 12, failed: 0 },
        error_file_id: null,
        usage: {
          input_tokens: 12 * USAGE.prompt_tokens,
          output_tokens: 12 * USAGE.completion_tokens,
          total_tokens: 12 * USAGE.total_tokens,
          cost: Number(formatToken(12n * COST)),
        },
      });
      for (const at of [batch.in_progress_at, batch.finalizing_at, batch.completed_at])
        expect(at).toBeGreaterThanOrEqual(created.created_at);
      const lines = await client.lines(batch.output_file_id);
      expect(lines.map(({ custom_id }) => custom_id)).toEqual(numbers(12).map((n) => `request-${n}`));
      for (const { id, response, error } of lines) {
        expect(id).toMatch(/^batch_req_[0-9a-f]{32}$/);
        expect(error).toBeNull();
        expect(response).toMatchObject({
          status_code: 200,
          request_id: id,
          body: { object: "chat.completion", usage: { total_tokens: USAGE.total_tokens } },
        });
        expect(response?.body.x_0g_trace).toMatchObject({
          request_id: id,
          billing: { total_cost: String(COST) },
        });
      }
      await requireAvailable(router().app, owner, { available: START - 12n * COST });
      const { openai } = client;
      expect(await openai.files.retrieve(batch.output_file_id ?? "")).toMatchObject({
        purpose: "batch_output",
      });
      const files = await Array.fromAsync(await openai.files.list({ limit: 1 }));
      expect(files.map(({ purpose }) => purpose).toSorted()).toEqual(["batch", "batch_output"]);
      expect(await Array.fromAsync(await openai.batches.list({ limit: 1 }))).toEqual([batch]);
      expect(await openai.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
      await expect(openai.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
      await expect(openai.batches.cancel(batch.id)).rejects.toMatchObject({
        status: 409,
        code: "batch_not_cancellable",
      });
    });

    test("requests to every endpoint are run as live ones", async () => {
      for (const [endpoint, body] of [
        ["/v1/completions", { model: "text", prompt: "The sea is", max_tokens: 5 }],
        ["/v1/responses", { model: MODEL, input: "What is the sea?" }],
        ["/v1/embeddings", { model: "embed", input: "the sea" }],
      ] as const) {
        for (const { scripts } of router().scripted) {
          scripts.set("embed", (_, response) =>
            sendJson(response, 200, {
              object: "list",
              data: [{ object: "embedding", index: 0, embedding: [0.5, 1] }],
              usage: { prompt_tokens: 2, total_tokens: 2 },
            }),
          );
          scripts.set("text", (_, response) =>
            sendJson(response, 200, {
              id: "cmpl-1",
              object: "text_completion",
              created: 1,
              model: "text",
              choices: [{ index: 0, text: " salt", finish_reason: "stop" }],
              usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
            }),
          );
        }
        const batch = await client.run(
          inputOf([{ custom_id: "one", method: "POST", url: endpoint, body }]),
          endpoint,
        );
        expect(await client.lines(batch.error_file_id)).toEqual([]);
        const [line] = await client.lines(batch.output_file_id);
        expect(line?.response?.status_code, JSON.stringify(batch)).toBe(200);
        expect(Number(line?.response?.body.x_0g_trace?.billing.total_cost)).toBeGreaterThan(0);
      }
    });

    test("an input with CRLF, a byte order mark, blank lines and no last line break is read as its lines", async () => {
      const text = `\ufeff${JSON.stringify(lineOf(1))}\r\n\r\n   \n${JSON.stringify(lineOf(2))}`;
      const batch = await client.run(text);
      expect(batch).toMatchObject({ status: "completed", request_counts: { total: 2, completed: 2 } });
    });

    test("a batch with malformed lines fails, names each of them, and costs nothing", async () => {
      const batch = await client.run(
        inputOf([
          lineOf(1),
          "{",
          { ...lineOf(2), custom_id: "request-1" },
          { ...lineOf(3), url: "/v1/embeddings" },
          { ...lineOf(4), method: "GET" },
          lineOf(5, { model: "nobody" }),
          { ...lineOf(6), body: "text" },
          { ...lineOf(7), custom_id: "" },
          { ...lineOf(8), more: 1 },
          "[1]",
          `{"custom_id":"a","custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{}}`,
          lineOf(9, { messages: [{ role: "user", content: "x".repeat(1_100_000) }] }),
        ]),
      );
      expect(batch).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null });
      expect(batch.errors?.data?.map(({ line, code }) => [line, code])).toEqual([
        [2, "invalid_json_line"],
        [3, "duplicate_custom_id"],
        [4, "invalid_url"],
        [5, "invalid_method"],
        [6, "model_not_found"],
        [7, "missing_required_parameter"],
        [8, "missing_required_parameter"],
        [9, "unknown_parameter"],
        [10, "invalid_json_line"],
        [11, "invalid_json_line"],
        [12, "line_too_long"],
      ]);
      expect(router().scripted.flatMap(({ calls }) => calls)).toEqual([]);
      await requireAvailable(router().app, owner, { available: START });
    });

    test.each([
      ["nothing", "", "empty_file"],
      ["blank lines", "\n\n\n", "empty_file"],
      ["50,001 lines", inputOf(numbers(50_001).map((n) => lineOf(n, { messages: [] }))), "too_many_tasks"],
    ])("an input of %s fails", async (_, text, code) => {
      const batch = await client.run(text);
      expect(batch).toMatchObject({ status: "failed", errors: { data: [{ code }] } });
    });

    test("the usage states cached tokens and reasoning, as OpenAI's does", async () => {
      const usage = {
        ...USAGE,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 5 },
      };
      for (const { scripts } of router().scripted)
        scripts.set(MODEL, (_, response) =>
          sendJson(response, 200, {
            id: "1",
            object: "chat.completion",
            choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" }],
            usage,
          }),
        );
      const batch = await client.run(inputOf([lineOf(1), lineOf(2)]));
      expect(batch.usage).toMatchObject({
        input_tokens: 2 * USAGE.prompt_tokens,
        input_tokens_details: { cached_tokens: 8 },
        output_tokens: 2 * USAGE.completion_tokens,
        output_tokens_details: { reasoning_tokens: 10 },
      });
    });

    test("a line that fails is in the error file with its response, and is not billed", async () => {
      for (const { scripts } of router().scripted)
        scripts.set(MODEL, (call, response) =>
          String(JSON.stringify(call.body)).includes("Question 3")
            ? sendJson(response, 400, { error: { message: "too long", code: "context_length_exceeded" } })
            : sendJson(response, 200, {
                id: "1",
                object: "chat.completion",
                choices: [
                  { index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" },
                ],
                usage: USAGE,
              }),
        );
      const batch = await client.run(
        inputOf([lineOf(1), lineOf(2, { stream: true }), lineOf(3), lineOf(4, { messages: "none" })]),
      );
      expect(batch).toMatchObject({
        status: "completed",
        request_counts: { total: 4, completed: 1, failed: 3 },
      });
      const failures = await client.lines(batch.error_file_id);
      expect(
        failures.map(({ custom_id, response, error }) => [
          custom_id,
          response?.status_code,
          response?.body.error?.code,
          error,
        ]),
      ).toEqual([
        ["request-2", 400, "invalid_body", null],
        ["request-3", 400, "context_length_exceeded", null],
        ["request-4", 400, "invalid_body", null],
      ]);
      await requireAvailable(router().app, owner, { available: START - COST });
    });

    test("lines count for the tags in their metadata, within their budgets, and comply with the key's guardrails", async () => {
      const { app } = router();
      await app.tagBudgets.create(owner.account, {
        ...{ name: "team", value: "none", creditLimit: 0n },
      });
      await app.apiKeys.update(owner.account, owner.keyId, { maxOutputTokens: 50 });
      const batch = await client.run(
        inputOf([
          lineOf(1, { metadata: { team: "search" } }),
          lineOf(2, { max_tokens: 51 }),
          lineOf(3, { metadata: { team: "none" } }),
        ]),
      );
      const failures = await client.lines(batch.error_file_id);
      expect(
        failures.map(({ custom_id, response }) => [
          custom_id,
          response?.status_code,
          response?.body.error?.code,
        ]),
      ).toEqual([
        ["request-2", 403, "guardrail_violated"],
        ["request-3", 402, "credit_limit_exceeded"],
      ]);
      const { rows } = await app.requests.list(owner.account, { first: 10 });
      expect(rows.filter(({ status }) => status === "completed").map(({ tags }) => tags)).toEqual([
        { team: "search" },
      ]);
      await requireAvailable(app, owner, { available: START - COST });
    });

    test("a batch that is cancelled half way bills what was sent, and says of the rest that it was not", async () => {
      const silent: (() => void)[] = [];
      const sent = new Set<string>();
      for (const { scripts } of router().scripted)
        scripts.set(MODEL, ({ body }, response) => {
          sent.add(JSON.stringify(body.messages));
          const answer = () => sendJson(response, 200, completion());
          if (sent.size <= 4) answer();
          else silent.push(answer);
        });
      const { id } = await client.start(inputOf(numbers(50).map((n) => lineOf(n))));
      await until(() => silent.length > 0);
      expect(["cancelling", "in_progress"]).toContain((await client.openai.batches.cancel(id)).status);
      const begun = await linesBegun(router().app.database, id);
      await client.openai.batches.cancel(id);
      const release = setInterval(() => silent.splice(0).map((answer) => answer()), 20);
      const batch = await client.ended(id);
      clearInterval(release);
      expect(begun).toBeGreaterThan(4);
      expect(begun).toBeLessThan(50);
      expect(batch).toMatchObject({
        status: "cancelled",
        request_counts: { total: 50, completed: begun, failed: 50 - begun },
      });
      expect(sent.size).toBe(begun);
      const [done, left] = [
        await client.lines(batch.output_file_id),
        await client.lines(batch.error_file_id),
      ];
      expect([done.length, left.length]).toEqual([begun, 50 - begun]);
      expect(new Set([...done, ...left].map(({ custom_id }) => custom_id)).size).toBe(50);
      for (const { error, response } of left)
        expect([error?.code, response]).toEqual(["batch_cancelled", null]);
      await requireAvailable(router().app, owner, { available: START - BigInt(begun) * COST });
    });

    test("lines are answered until the balance is used up, and the others fail with 402", async () => {
      const poor = await router().seed(10n * COST);
      const mine = new BatchClient(router(), poor);
      // A line may cost more than it does, so the last ones that the balance would cover are not held for.
      const batch = await mine.run(inputOf(numbers(20).map((n) => lineOf(n))));
      const { completed = 0, failed = 0 } = batch.request_counts ?? {};
      expect(batch.status).toBe("completed");
      expect(completed + failed).toBe(20);
      expect(completed).toBeGreaterThan(0);
      expect(completed).toBeLessThanOrEqual(10);
      for (const { response } of await mine.lines(batch.error_file_id))
        expect([response?.status_code, response?.body.error?.code]).toEqual([402, "insufficient_balance"]);
      await requireAvailable(router().app, poor, { available: 10n * COST - BigInt(completed) * COST });
    });

    test("a batch whose key is revoked ends, and what was answered is billed and readable by the wallet", async () => {
      let calls = 0;
      const silent: (() => void)[] = [];
      for (const { scripts } of router().scripted)
        scripts.set(MODEL, (_, response) => {
          const answer = () =>
            sendJson(response, 200, {
              id: "1",
              object: "chat.completion",
              choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" }],
              usage: USAGE,
            });
          if (calls++ < 3) answer();
          else silent.push(answer);
        });
      const { id } = await client.start(inputOf(numbers(40).map((n) => lineOf(n))));
      await until(() => silent.length > 0);
      const { apiKeys, batches, clientFiles } = router().app;
      await apiKeys.revoke(owner.account, owner.keyId);
      const release = setInterval(() => silent.splice(0).map((answer) => answer()), 20);
      await expect(client.openai.batches.retrieve(id)).rejects.toMatchObject({
        status: 401,
        code: "api_key_revoked",
      });
      const wallet = { account: owner.account };
      const batch = await until(async () => {
        const [found] = (await batches.list(wallet, { first: 1 })).rows;
        return found?.status === "failed" && found;
      });
      clearInterval(release);
      expect(batch.errors).toMatchObject([{ code: "api_key_revoked" }]);
      expect(batch.completed).toBeGreaterThanOrEqual(3);
      expect(batch.completed + batch.failed).toBe(40);
      const output = await clientFiles.get(wallet, batch.outputFileId ?? "");
      const parts = await Array.fromAsync((await clientFiles.read(output.id)).parts());
      expect(Buffer.concat(parts).toString().trimEnd().split("\n")).toHaveLength(batch.completed);
      await requireAvailable(router().app, owner, { available: START - BigInt(batch.completed) * COST });
    });

    test("files and batches of another account, or another key, are not found", async () => {
      const batch = await client.run(inputOf([lineOf(1)]));
      const stranger = new BatchClient(router(), await router().seed(START)).openai;
      const input = batch.input_file_id;
      const output = batch.output_file_id ?? "";
      for (const attempt of [
        () => stranger.files.retrieve(input),
        () => stranger.files.content(output),
        () => stranger.files.delete(output),
        () => stranger.batches.retrieve(batch.id),
        () => stranger.batches.cancel(batch.id),
        () =>
          stranger.batches.create({
            input_file_id: input,
            endpoint: "/v1/chat/completions",
            completion_window: "24h",
          }),
        () => client.openai.files.retrieve("file-nothing"),
        () => client.openai.batches.retrieve(`batch_${"0".repeat(32)}`),
      ])
        await expect(attempt()).rejects.toMatchObject({ status: 404 });
      const unknown = `file-${"0".repeat(32)}`;
      const completion = { endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
      for (const [param, attempt] of [
        ["input_file_id", () => client.openai.batches.create({ input_file_id: unknown, ...completion })],
        ["input_file_id", () => client.openai.batches.create({ input_file_id: "x", ...completion })],
        ["after", () => client.openai.files.list({ after: unknown })],
        ["after", () => client.openai.batches.list({ after: "batch_x" })],
      ] as const)
        await expect(attempt()).rejects.toMatchObject({ status: 404, param });
      expect((await stranger.files.list()).data).toEqual([]);
      expect((await stranger.batches.list()).data).toEqual([]);
      const { key, secret } = await router().app.apiKeys.create(owner.account, "other");
      expect(key.id).not.toBe(owner.keyId);
      const other = new BatchClient(router(), { secret }).openai;
      await expect(other.files.content(output)).rejects.toMatchObject({ status: 404 });
    });

    test("the files of an account have a limit in all, and each has one", async () => {
      const half = Buffer.alloc(12 * 1_048_576, "x");
      await expect(client.upload(Buffer.alloc(17 * 1_048_576))).rejects.toMatchObject({
        status: 413,
        code: "file_too_large",
      });
      // What was refused takes no room.
      await expect(
        client.openai.files.create({ file: new File([half], "input.jsonl"), purpose: "vision" }),
      ).rejects.toMatchObject({ status: 400, code: "invalid_body", param: "purpose" });
      const first = await client.upload(half);
      await expect(client.upload(half)).rejects.toMatchObject({
        status: 413,
        code: "storage_quota_exceeded",
      });
      await client.openai.files.delete(first.id);
      const other = new BatchClient(router(), await router().seed(START));
      await other.upload(half);
    });
  });
}
