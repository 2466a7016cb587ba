import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ExchangeHasher } from "../../../src/inference/providers/exchange/exchange-hasher.ts";
import { ClientExchange } from "../../../src/receipts/client-exchange.ts";
import type { ReceiptDraft } from "../../../src/receipts/draft.ts";

const sha256 = (...parts: readonly (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");

/** An exchange, and the hashes that it adds after the settlement. */
function open() {
  const added: [string, string][] = [];
  const exchange = new ClientExchange("/v1/chat/completions", Buffer.from("{}"), 0, {
    add: (id, digest) => void added.push([id, digest]),
  });
  return { exchange, added };
}

function draftWith(returned: string | undefined): ReceiptDraft {
  return {
    ...{ endpoint: "/v1/chat/completions", modelAnswered: "m" },
    ...{ received: undefined, forwarded: undefined, answered: undefined },
    ...{ returned, awaitsReturned: true },
  };
}

describe("what the client is sent is stored after the settlement", () => {
  test("only if it is not what the draft has: a whole answer", async () => {
    const { exchange, added } = open();
    const body = Buffer.from('{"x":1}');
    const returned = await exchange.expect(body);
    expect(returned).toEqual(sha256(body));
    exchange.settled("r", draftWith(returned));
    exchange.sent(body);
    exchange.end();
    expect(added).toEqual([]);
  });

  test("only if it is not what the draft has: a stream of one, two and three chunks before its end", async () => {
    for (const chunks of [["a"], ["a", "b"], ["a", "b", "c"]]) {
      const { exchange, added } = open();
      for (const chunk of chunks) exchange.sent(chunk);
      const last = Buffer.from("[DONE]");
      const returned = await exchange.expect(last);
      expect(returned).toEqual(sha256(...chunks, last));
      exchange.settled("r", draftWith(returned));
      exchange.sent(last);
      exchange.end();
      expect(added).toEqual([]);
    }
  });

  test("if something else was sent, such as an error", async () => {
    const { exchange, added } = open();
    const returned = await exchange.expect(Buffer.from("the answer"));
    const draft = draftWith(returned);
    exchange.settled("r", draft);
    exchange.sent("an error");
    exchange.end();
    expect(added).toEqual([["r", sha256("an error")]]);
  });

  test("if the draft has no hash, whichever comes first, and once", () => {
    for (const isSettledFirst of [true, false]) {
      const { exchange, added } = open();
      const draft = draftWith(undefined);
      exchange.sent("an answer");
      if (isSettledFirst) exchange.settled("r", draft);
      exchange.end();
      exchange.end();
      if (!isSettledFirst) exchange.settled("r", draft);
      expect(added).toEqual([["r", sha256("an answer")]]);
    }
  });
});

test("a provider that is sent the client's own bytes is sent the digest that the client's have, and no other", async () => {
  const body = Buffer.from('{"model":"m"}');
  const client = new ClientExchange("/v1/chat/completions", body, 0, { add: () => {} });
  expect(client.digestOf(body)).toBe(client.received);
  expect(client.digestOf(Buffer.from(body))).toBeUndefined();
  for (const sent of [body, Buffer.from('{"model":"other"}')]) {
    const hasher = new ExchangeHasher(client);
    hasher.sent(sent);
    expect(await hasher.digests()).toEqual({ request: sha256(sent) });
    hasher.end();
    expect(await hasher.hashes).toEqual({ request: sha256(sent), response: sha256("") });
  }
});
