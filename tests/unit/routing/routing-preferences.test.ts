import fc from "fast-check";
import { expect, test } from "vitest";
import { mergePreferences, priceInUsd, readUsd } from "../../../src/inference/routing/routing-preferences.ts";

test("maximum prices of the body and of headers are merged price by price, and headers take precedence", () => {
  const body = { caps: { prompt: 1n, completion: 2n }, sort: "price" } as const;
  expect(mergePreferences(body, { caps: { completion: 9n, image: 3n } })).toEqual({
    caps: { prompt: 1n, completion: 9n, image: 3n },
    sort: "price",
  });
  expect(mergePreferences(body, { sort: "latency" })).toEqual({ ...body, sort: "latency" });
  expect(mergePreferences({}, { caps: { image: 3n } })).toEqual({ caps: { image: 3n } });
  expect(mergePreferences(body, undefined)).toEqual(body);
  expect(Object.keys(mergePreferences({}, undefined))).toEqual([]);
});

test("dollars are read exactly, and nothing but a plain decimal is", () => {
  expect(readUsd("0")).toBe(0n);
  expect(readUsd("12.5")).toBe(12_500_000_000_000_000_000n);
  expect(readUsd("0.000000000000000001")).toBe(1n);
  expect(readUsd(`${"9".repeat(12)}.${"9".repeat(18)}`)).toBe(BigInt("9".repeat(30)));
  const others = [
    "",
    ".5",
    "1.",
    "01",
    "-1",
    "+1",
    "1e3",
    " 1",
    "1 ",
    "1,5",
    "9".repeat(13),
    `1.${"0".repeat(19)}`,
  ];
  for (const text of others) expect(readUsd(text), text).toBeUndefined();
});

test("a price in dollars is the price in neuron times the dollars per token, to the last digit", () => {
  expect(priceInUsd(1n, 1n)).toBe("0.000000000000000000000000000000000001");
  expect(priceInUsd(2_000_000_000_000_000_000n, readUsd("0.25") ?? 0n)).toBe("0.5");
  const upToMillion = fc.bigInt(0n, 999_999n);
  fc.assert(
    fc.property(upToMillion, upToMillion, (tokens, dollars) => {
      const shown = priceInUsd(tokens * 10n ** 18n, dollars * 10n ** 18n);
      expect(readUsd(shown)).toBe(tokens * dollars * 10n ** 18n);
    }),
  );
});
