// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { MODEL } from "../../support/chain/network.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack({ GRAPH_LIMITS: "streamsPerKey=1" });
const RICH = 10n ** 12n;

/** A message as a client sends it, without the handshake: by the protocol of 2025, its answer is a stream. */
function send({ secret }: Seeded, method: string, params: object = {}): Promise<Response> {
  return fetch(`${stack().origin}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

/** Opens a stream of the caller, its only one. Returns a function that ends it. */
async function openStream({ secret }: Seeded): Promise<() => void> {
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const response = await fetch(`${stack().origin}/graphql/stream`, {
    method: "POST",
    signal: left.signal,
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ query: "subscription { blockAdded { number } }" }),
  });
  expect(response.status).toBe(200);
  return () => left.abort();
}

test("a tool that is refused for want of a slot does not run, and is not billed", async () => {
  const owner = await seedAccount(stack().app.database, RICH);
  const end = await openStream(owner);
  const chat = { name: "complete_chat", arguments: { model: MODEL, question: "hi" } };
  const before = stack().provider.requests;
  const refused = await send(owner, "tools/call", chat);
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
  expect(refused.headers.get("content-type")).toContain("application/json");
  end();
  // Each call gives its slot back.
  await untilListed(owner);
  await untilListed(owner);
  const answer = await (
    await until(async () => {
      const response = await send(owner, "tools/call", chat);
      return response.ok && response;
    })
  ).text();
  const [, cost] = /\\"cost\\":\{\\"total\\":\\"(\d+)\\"/.exec(answer) ?? [];
  // Had the refused call run, it would have been charged too.
  await requireAvailable(stack().app, owner, { available: RICH - BigInt(cost ?? 0) });
  expect(stack().provider.requests).toBe(before + 1);
});

async function untilListed(owner: Seeded): Promise<void> {
  const response = await until(async () => {
    const listed = await send(owner, "tools/list");
    return listed.ok && listed;
  });
  expect(await response.text()).toContain("complete_chat");
}
