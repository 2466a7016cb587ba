// @module-tag large
import { expect, test } from "vitest";
import { MODEL } from "../support/chain/network.ts";
import { rest } from "../support/clients/rest-client.ts";
import { toWav } from "../support/inference/wav.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
useServices(stack, ["messages", "images", "edits", "speech", "voice", "embeddings", "rerank"]);

const messages = [{ role: "user", content: "Hello" }];
const image = { model: SERVICES.images.model, prompt: "a sea", size: "8x8", response_format: "b64_json" };

function edit(): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: SERVICES.edits.model, prompt: "a sea" }))
    form.set(name, value);
  form.set("response_format", "b64_json");
  form.set("image", new Blob([new Uint8Array(100)], { type: "image/png" }), "a.png");
  return form;
}

const REQUESTS: Readonly<Record<string, () => object>> = {
  "/v1/chat/completions": () => ({ model: MODEL, messages, max_tokens: 3 }),
  "/v1/messages": () => ({ model: SERVICES.messages.model, messages, max_tokens: 3 }),
  "/v1/responses": () => ({ model: MODEL, input: "Hello", max_output_tokens: 16 }),
  "/v1/completions": () => ({ model: SERVICES.messages.model, prompt: "Hello", max_tokens: 3 }),
  "/v1/embeddings": () => ({ model: SERVICES.embeddings.model, input: "Hello" }),
  "/v1/rerank": () => ({ model: SERVICES.rerank.model, query: "sea", documents: ["a"] }),
  "/v1/audio/speech": () => ({ model: SERVICES.voice.model, input: "a sea", voice: "alloy" }),
  "/v1/audio/transcriptions": () => ({
    model: SERVICES.speech.model,
    file_base64: toWav(1).toString("base64"),
    filename: "a.wav",
  }),
  "/v1/images/generations": () => image,
  "/v1/images/edits": edit,
  "/v1/async/images/generations": () => image,
  "/v1/async/images/edits": edit,
};

test.each(Object.keys(REQUESTS))("%s counts for its tags, and is limited by their budgets", async (path) => {
  const { app, origin } = stack();
  const owner = await seedAccount(app.database, 10n ** 18n);
  const send = async (tag: string) => {
    const body = REQUESTS[path]?.();
    const isForm = body instanceof FormData;
    const reply = await fetch(origin + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${owner.secret}`,
        "x-tag": tag,
        ...(!isForm && { "content-type": "application/json" }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    return { status: reply.status, text: await reply.text() };
  };
  const first = await send("team=search");
  expect(first, first.text).toMatchObject({ status: path.includes("async") ? 202 : 200 });
  const { secret } = await app.managementKeys.create(owner.account, "reads", ["account:read"]);
  const used = async () =>
    (await rest<{ data: { cost: string }[] }>(origin, "/v1/account/usage/tags", secret)).body.data;
  await until(async () => {
    const [row] = await used();
    expect(row).toMatchObject({ name: "team", value: "search", request_count: 1 });
  });
  const [{ cost } = { cost: "0" }] = await used();
  expect(BigInt(cost)).toBeGreaterThan(0n);
  await app.tagBudgets.create(owner.account, { name: "team", value: "search", creditLimit: BigInt(cost) });
  const refused = await send("env=prod, team=search");
  expect(refused).toMatchObject({ status: 402, text: expect.stringContaining("team=search") });
  expect((await send("env=prod")).status).toBeLessThan(300);
  expect((await send("team")).status).toBe(400);
});
