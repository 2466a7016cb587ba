// @module-tag large
import { expect, test } from "vitest";
import { verify } from "../../../packages/verify/src/verify.ts";
import { MODEL } from "../../support/chain/network.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();
useServices(stack, ["embeddings"]);

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

function ask({ secret }: Seeded, path: string, body?: string): Promise<Response> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
  return fetch(stack().origin + path, { headers, ...(body !== undefined && { method: "POST", body }) });
}
