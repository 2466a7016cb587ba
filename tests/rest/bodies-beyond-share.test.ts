import { request } from "node:http";
import { expect, test } from "vitest";
import { rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const MIB = 1_048_576;
/** An account may hold 64 MiB: a body of 21 MiB, which is counted three times, and not one of 24 MiB. */
const stack = useStack({ REQUEST_MEMORY_MIB: "128", MAX_PROMPT_MIB: "21" });

/** A body of exactly this size. */
function bodyOf(sizeBytes: number, rest: object): string {
  const empty = JSON.stringify({ model: "none", ...rest, user: "" });
  return empty.replace(/"user":""/, `"user":"${"a".repeat(sizeBytes - empty.length)}"`);
}

/** Sends a body in chunks, which do not announce its size. Resolves with the status and the answer. */
function sendInChunks(path: string, secret: string, body: string): Promise<readonly [number, unknown]> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
  return new Promise((resolve, reject) => {
    const sent = request(`${stack().origin}${path}`, { method: "POST", headers }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      reply.on("end", () => resolve([reply.statusCode ?? 0, JSON.parse(text)]));
    });
    sent.on("error", reject);
    sent.write(body.slice(0, MIB));
    sent.end(body.slice(MIB));
  });
}

test("a body that can never fit into its account's memory is 413, announced or not", async () => {
  const { secret } = await seedAccount(stack().app.database, 1n);
  const path = "/v1/images/edits";
  const body = bodyOf(24 * MIB, { prompt: "a", image: "a" });
  const error = { code: "body_too_large", message: expect.stringContaining(`${64 * MIB} bytes`) };
  expect(await rest(stack().origin, path, secret, { body: JSON.parse(body) })).toMatchObject({
    status: 413,
    body: { error },
  });
  expect(await sendInChunks(path, secret, body)).toMatchObject([413, { error }]);
  expect((await rest(stack().origin, "/v1/models", secret)).status).toBe(200);
});

test("a prompt of the largest size that the settings allow is admitted", async () => {
  const { secret } = await seedAccount(stack().app.database, 1n);
  const body = bodyOf(21 * MIB, { messages: [{ role: "user", content: "a" }] });
  const path = "/v1/chat/completions";
  expect((await rest(stack().origin, path, secret, { body: JSON.parse(body) })).status).toBe(404);
  expect((await sendInChunks(path, secret, body))[0]).toBe(404);
});
