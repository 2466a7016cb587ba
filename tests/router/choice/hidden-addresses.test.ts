import { beforeEach, describe, expect, test } from "vitest";
import { openStream, type Script, sendJson } from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const { prompt, completion } = PRICES[0];
const pricing = { prompt: String(prompt), completion: String(completion) };
const router = await useRouter({
  models: ["chat"],
  count: 1,
  more: () => [
    { id: "message", pricing, supported_formats: ["openai", "anthropic"] },
    { id: "response", pricing, supported_formats: ["responses"] },
    { id: "paint", pricing: { image: "1" }, service_type: "text-to-image" },
  ],
});

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed();
});

const portOf = (host: string) => host.split(":")[1] ?? "";
const messages = [{ role: "user", content: "What is the sea?" }];
const REQUESTS = [
  ["chat", "chat/completions", { messages }],
  ["message", "messages", { messages, max_tokens: 5 }],
  ["response", "responses", { input: "a" }],
] as const;

function send(path: string, body: object): Promise<Response> {
  return fetch(`${router().origin}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

describe.each(REQUESTS)("an error of a provider of %s (%s)", (model, path, body) => {
  const errorOf = (host = "") => ({
    message: `Too long: http://${host}/v1/chat on ${host}, LOCALHOST:${portOf(host)} and [::1]:${portOf(host)}`,
    code: "context_length_exceeded",
    type: "invalid_request_error",
  });
  const answered =
    (status: number): Script =>
    ({ headers }, response) =>
      sendJson(response, status, { type: "error", error: errorOf(headers.host) });
  const refused = answered(400);
  const stated = answered(200);
  const asEvent: Script = ({ headers }, response) => {
    const data = JSON.stringify({ type: "error", error: errorOf(headers.host) });
    openStream(response).end(`event: error\ndata: ${data}\n\n`);
  };

  test.each([
    ["with status 400", refused, false],
    ["with status 200", stated, false],
    ["with status 400, to a stream", refused, true],
    ["with status 200, to a stream", stated, true],
    ["as an event", asEvent, true],
  ])("%s is shown without its address", async (_how, script, stream) => {
    router().scripted[0]?.scripts.set(model, script);
    const reply = await send(path, { model, ...body, stream });
    const text = await reply.text();
    expect(reply.status, text).toBe(400);
    expect(text).toContain("Too long: [address] on [address], [address] and [address]");
    expect(text).not.toContain(portOf(new URL(router().scripted[0]?.url ?? "").host));
  });
});

test("an image job that fails shows the reason without the provider's address", async () => {
  const { url } = router().scripted[0] ?? { url: "" };
  router().scripted[0]?.scripts.set("paint", (_, response) =>
    sendJson(response, 400, { error: { message: `Not found: ${url}/images` } }),
  );
  const reply = await send("images/generations", { model: "paint", prompt: "a" });
  expect(await reply.json()).toMatchObject({
    error: { message: "The provider rejected the request: Not found: [address]" },
  });
  const started = await send("async/images/generations", { model: "paint", prompt: "a" });
  const { jobId } = (await started.json()) as { readonly jobId: string };
  await until(async () => {
    const job = await fetch(`${router().origin}/v1/async/jobs/${jobId}`, {
      headers: { authorization: `Bearer ${owner.secret}` },
    });
    const text = await job.text();
    expect(text).toContain("Not found: [address]");
    expect(text).not.toContain(new URL(url).port);
  });
});
