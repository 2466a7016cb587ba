import fc from "fast-check";
import { expect, test } from "vitest";
import {
  byPrice,
  endpointOf,
  inputTokensAt,
  isRoutable,
  trustModeOf,
} from "../../../src/inference/providers/provider.ts";
import { addressOf, offer } from "../../support/inference/offers.ts";

test("offers of a model are listed from the lowest sum of prices, and by address at one price", () => {
  const price = fc.bigInt(0n, 3n);
  fc.assert(
    fc.property(fc.array(fc.tuple(price, price), { minLength: 2, maxLength: 8 }), (prices) => {
      const offers = prices.map(([inputPrice, outputPrice], n) => offer(n + 1, { inputPrice, outputPrice }));
      const [sorted, again] = [offers.toReversed(), offers].map((list) => list.toSorted(byPrice));
      expect(again).toEqual(sorted);
      const key = ({ inputPrice, outputPrice, address }: (typeof offers)[number]) =>
        `${inputPrice + outputPrice} ${address}`;
      expect(sorted?.map(key)).toEqual(offers.map(key).toSorted());
    }),
  );
});

test.each([
  ["standard", { verifiability: "" }],
  ["standard", { verifiability: "TeeML", teeAcknowledged: false }],
  ["standard", { verifiability: "", isCentralized: true }],
  ["verified", { isCentralized: true }],
  ["private", {}],
] as const)("the trust mode is %s for %j", (mode, fields) => {
  expect(trustModeOf(offer(1, fields))).toBe(mode);
});

test("an offer is used if its signer is acknowledged or the operator listed it, and never if its URL is not allowed", () => {
  expect(isRoutable(offer(1))).toBe(true);
  expect(isRoutable(offer(1, { teeAcknowledged: false }))).toBe(false);
  expect(isRoutable(offer(1, { teeAcknowledged: false, source: "file" }))).toBe(true);
  expect(isRoutable(offer(1, { unroutable: "not https" }))).toBe(false);
  expect(isRoutable(offer(1, { unroutable: "not https", source: "file" }))).toBe(false);
});

test("a prompt has at most as many tokens as the model's context", () => {
  const known = offer(1, { profile: { formats: ["openai"], contextLength: 100 } });
  expect([99, 100, 101].map((tokens) => inputTokensAt(known, tokens))).toEqual([99, 100, 100]);
  expect(inputTokensAt(offer(1), 10 ** 9)).toBe(10 ** 9);
});

test("endpoints of a broker are below its proxy, except its own; those of an operator's server are below its URL", () => {
  const chain = offer(1, { url: "https://broker.example.com", address: addressOf(1) });
  expect(endpointOf(chain, "/chat/completions")).toBe("https://broker.example.com/v1/proxy/chat/completions");
  expect(endpointOf(chain, "/async/images/generations")).toBe(
    "https://broker.example.com/v1/async/images/generations",
  );
  const file = offer(1, { url: "https://own.example.com/api", source: "file" });
  expect(endpointOf(file, "/chat/completions")).toBe("https://own.example.com/api/chat/completions");
  expect(endpointOf(file, "/async/images/edits")).toBe("https://own.example.com/api/async/images/edits");
});
