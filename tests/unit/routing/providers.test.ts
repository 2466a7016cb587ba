import fc from "fast-check";
import { expect, test } from "vitest";
import {
  byPrice,
  changedAt,
  displayName,
  endpointOf,
  inputTokensAt,
  isAttested,
  isRoutable,
  ownerOf,
  publicUrlOf,
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
  // Each of several prompts may fill the context.
  expect([299, 300, 301].map((tokens) => inputTokensAt(known, tokens, 3))).toEqual([299, 300, 300]);
});

test("endpoints of a broker are below its proxy, except its own; those of an operator's server are below its URL", () => {
  const chain = offer(1, { url: "https://broker.example.com", address: addressOf(1) });
  expect(endpointOf(chain, "/chat/completions")).toBe("https://broker.example.com/v1/proxy/chat/completions");
  expect(endpointOf(chain, "/async/images/generations")).toBe(
    "https://broker.example.com/v1/async/images/generations",
  );
  expect(endpointOf(chain, "/quote")).toBe("https://broker.example.com/v1/quote");
  const file = offer(1, { url: "https://own.example.com/api", source: "file" });
  expect(endpointOf(file, "/chat/completions")).toBe("https://own.example.com/api/chat/completions");
  expect(endpointOf(file, "/async/images/edits")).toBe("https://own.example.com/api/async/images/edits");
});

test("customers see the URL of a provider of the registry, and not that of an operator's server", () => {
  expect(publicUrlOf(offer(1, { url: "https://broker.example.com" }))).toBe("https://broker.example.com");
  expect(publicUrlOf(offer(1, { url: "http://10.0.0.1", source: "file" }))).toBeNull();
});

test("a model without a name is called by its id, and without an owner it is the network's", () => {
  const named = offer(1, { profile: { formats: ["openai"], name: "Model M", providerName: "Maker" } });
  expect([named, offer(2)].map(displayName)).toEqual(["Model M", "m"]);
  expect([named, offer(2)].map(ownerOf)).toEqual(["Maker", "0G Foundation"]);
});

test("answers can be verified against an acknowledged signer of a verifiable offer only", () => {
  expect(isAttested(offer(1))).toBe(true);
  expect(isAttested(offer(1, { verifiability: "" }))).toBe(false);
  expect(isAttested(offer(1, { teeAcknowledged: false }))).toBe(false);
  expect(isAttested(offer(1, { verifiability: "", teeAcknowledged: false }))).toBe(false);
});

test("a model changed when its last changed offer did", () => {
  const providers = [2, 3, 1].map((n) => offer(n, { updatedAt: new Date(n) }));
  expect(changedAt({ id: "m", serviceType: "chatbot", providers })).toEqual(new Date(3));
});
