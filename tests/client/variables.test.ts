import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { createClientWith, serverSentEvents } from "../../packages/client/src/index.ts";
import { useLive } from "../../packages/client/src/react/use-live.ts";

const tokenId = 340_282_366_920_938_463_463_374_607_431_768_211_457n;

// The development builds of React's renderer for servers are not installed.
vi.hoisted(() => vi.stubEnv("NODE_ENV", "production"));

function newClient() {
  const sent: unknown[] = [];
  const client = createClientWith(serverSentEvents(), {
    url: "http://127.0.0.1:1",
    async fetch(_: unknown, init?: RequestInit) {
      sent.push(JSON.parse(String(init?.body)).variables);
      return Response.json({ data: {} });
    },
  });
  return { client, sent };
}

test("a bigint in variables is sent as decimal text, also in lists and inputs", async () => {
  const { client, sent } = newClient();
  const query = "query ($tokenId: BigInt!, $filter: SealedKeyFilterInput) { __typename }";
  const at = new Date(0);
  await client.query<object, object>(query, { tokenId, filter: { tokenId, all: [1n, null, "2"] }, at });
  await client.mutate<object, object>("mutation ($tokenId: BigInt!) { __typename }", { tokenId });
  expect(sent).toEqual([
    { tokenId: `${tokenId}`, filter: { tokenId: `${tokenId}`, all: ["1", null, "2"] }, at: at.toISOString() },
    { tokenId: `${tokenId}` },
  ]);
});

test("a component follows a subscription with a bigint in its variables", () => {
  const { client } = newClient();
  const document = "subscription ($tokenId: BigInt) { publishedSealedKey(tokenId: $tokenId) { removed } }";
  const App = () =>
    createElement("p", null, useLive<object, object>(document, { tokenId }, { client }).state);
  expect(renderToString(createElement(App))).toBe("<p>connecting</p>");
});
