// @module-tag medium
import { getIntrospectionQuery } from "graphql";
import { expect, onTestFinished, test, vi } from "vitest";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();

/** Calls the endpoint of reserved streams without a credential. */
function call(init: RequestInit & { readonly search?: string }, token = ""): Promise<Response> {
  return fetch(`${stack().origin}/graphql/stream${init.search ?? ""}`, {
    ...init,
    headers: { "x-graphql-event-stream-token": token, "content-type": "application/json", ...init.headers },
  });
}

const reserve = async () => (await call({ method: "PUT" })).text();

function begin(token: string, operationId: string, query: string): Promise<Response> {
  return call({ method: "POST", body: JSON.stringify({ query, extensions: { operationId } }) }, token);
}

/** Opens a reserved stream, whose text is read until the returned function is called. */
async function open(token: string) {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const reply = await call({ headers: { accept: "text/event-stream" }, signal: leaving.signal }, token);
  const read = { text: "" };
  const reading = (async () => {
    for await (const chunk of reply.body ?? []) read.text += Buffer.from(chunk).toString();
  })().catch(() => {});
  return {
    read,
    close: async () => {
      leaving.abort();
      await reading;
    },
  };
}

test("an id that is used again while its operation is admitted receives the second one's result alone", async () => {
  const token = await reserve();
  const stream = await open(token);
  const { requestAuthenticator } = stack().app;
  const { promise: free, resolve: release } = Promise.withResolvers<void>();
  const take = requestAuthenticator.take.bind(requestAuthenticator);
  let isHeld = false;
  const taking = vi.spyOn(requestAuthenticator, "take").mockImplementation(async (...args) => {
    // The HTTP request is counted as one, and two more fields here.
    isHeld ||= args[1] === 2;
    if (args[1] === 2) await free;
    return take(...args);
  });
  onTestFinished(() => taking.mockRestore());
  const fields = ["a", "b", "c"].map((name) => `${name}: createSignInNonce { nonce }`);
  const first = begin(token, "1", `mutation { ${fields.join(" ")} }`);
  await until(() => isHeld);
  expect((await call({ method: "DELETE", search: "?operationId=1" }, token)).status).toBe(200);
  expect((await begin(token, "1", "subscription { blockAdded { number } }")).status).toBe(202);
  release();
  expect((await first).status).toBe(202);
  await begin(token, "2", "{ eventCursor viewer { kind } }");
  await until(() => stream.read.text.includes('event: complete\ndata: {"id":"2"}'));
  expect(stream.read.text).not.toContain('"a":');
  expect(stream.read.text).not.toContain('event: complete\ndata: {"id":"1"}');
  // The second operation is still in progress, so that its id is in use.
  expect((await begin(token, "1", "{ __typename }")).status).toBe(409);
  await stream.close();
});

test("results that wait for their stream to be opened count against the memory of requests", async () => {
  const { memory } = stack().app.load;
  const token = await reserve();
  await begin(token, "1", getIntrospectionQuery());
  await until(() => memory.usedBytes > 100_000);
  const stream = await open(token);
  await until(() => stream.read.text.includes("event: complete"));
  await until(() => memory.usedBytes === 0);
  await stream.close();
});
