import { expect, test } from "vitest";
import { createClientWith, serverSentEvents } from "../../packages/client/src/index.ts";

const tokenId = 340_282_366_920_938_463_463_374_607_431_768_211_457n;

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
