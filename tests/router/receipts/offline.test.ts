// @module-tag large
import { expect, test } from "vitest";
import { verify } from "../../../packages/verify/src/verify.ts";
import { MODEL } from "../../support/chain/network.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();
useServices(stack, ["embeddings", "images"]);

const chat = { model: MODEL, messages: [{ role: "user", content: "x" }], max_tokens: 4, verify_tee: true };

test.each<[string, string, object]>([
  ["a whole chat", "/v1/chat/completions", chat],
  ["a streamed chat", "/v1/chat/completions", { ...chat, stream: true }],
  [
    "embeddings",
    "/v1/embeddings",
    { model: SERVICES.embeddings.model, input: ["a sea", "a road"], verify_tee: true },
  ],
])("the bytes of %s and its receipt pass every check of the offline verifier", async (_what, path, body) => {
  const owner = await seedAccount(stack().app.database, 10n ** 12n);
  const request = JSON.stringify(body);
  const reply = await ask(owner, path, request);
  const answer = Buffer.from(await reply.arrayBuffer());
  const [, requestId] = /"request_id":"([^"]+)"/.exec(answer.toString()) ?? [];
  const bundle = await until(async () => {
    const receipt = await ask(owner, `/v1/receipts/${requestId}`);
    return receipt.status === 200 && receipt.text();
  });
  const { public_key: key } = (await (await ask(owner, "/v1/receipts/key")).json()) as { public_key: string };
  const { ok, checks } = await verify({ bundle: String(bundle), request: Buffer.from(request), answer, key });
  expect(checks.filter(({ result }) => result === "failed")).toEqual([]);
  expect(ok).toBe(true);
  expect(checks.filter(({ result }) => result === "passed").length).toBeGreaterThanOrEqual(9);
});

test.each([
  ["passes the checks of the offline verifier with the images", true],
  ["fails no check if the signature is fetched after it", false],
])("the receipt of an image job %s", async (_, isVerified) => {
  const owner = await seedAccount(stack().app.database, 10n ** 12n);
  const image = { model: SERVICES.images.model, prompt: "a sea", size: "8x8", response_format: "b64_json" };
  const request = JSON.stringify({ ...image, verify_tee: isVerified });
  const submitted = await ask(owner, "/v1/async/images/generations", request);
  expect(submitted.status).toBe(202);
  const { jobId } = (await submitted.json()) as { jobId: string };
  let polled = "";
  const poll = async (query = "") => {
    polled = await (await ask(owner, `/v1/async/jobs/${jobId}${query}`)).text();
    return (JSON.parse(polled) as { x_0g_trace?: Record<string, unknown> }).x_0g_trace;
  };
  const trace = await until(async () => (await poll()) ?? false);
  const bundleNow = async () => {
    const receipt = await ask(owner, `/v1/receipts/${trace.request_id}`);
    return receipt.status === 200 && receipt.text();
  };
  await until(bundleNow);
  expect(await poll("?verify_tee=true")).toMatchObject({ tee_verified: true });
  const files = { bundle: String(await bundleNow()), request: Buffer.from(request) };
  for (const answer of [undefined, Buffer.from(polled)]) {
    const { checks } = await verify({ ...files, answer });
    expect(checks.filter(({ result }) => result === "failed")).toEqual([]);
    const signed = checks.find(({ id }) => id === "provider_answer");
    expect(signed?.result).toBe(answer && isVerified ? "passed" : "not_checked");
  }
});

function ask({ secret }: Seeded, path: string, body?: string): Promise<Response> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
  return fetch(stack().origin + path, { headers, ...(body !== undefined && { method: "POST", body }) });
}
