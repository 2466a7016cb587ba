import fc from "fast-check";
import { expect, test } from "vitest";
import type { ShownCost } from "../../../src/inference/billing/shown-cost.ts";
import { shownCost } from "../../../src/inference/billing/shown-cost.ts";
import { withCost } from "../../../src/inference/body/cost-edits.ts";
import { ExactNumber, exactJson } from "../../../src/kernel/text/exact-json.ts";

const IN_TOKENS = { cost: new ExactNumber("0.5") };
const IN_BOTH = { ...IN_TOKENS, cost_usd: new ExactNumber("0.125") };

test.each<[string, ShownCost, string]>([
  ['{"usage":{"n":1.10}}', IN_TOKENS, '{"usage":{"n":1.10,"cost":0.5}}'],
  [
    '{"usage" : {"n":[{"}":"}"}]} , "a":1}',
    IN_BOTH,
    '{"usage" : {"n":[{"}":"}"}],"cost":0.5,"cost_usd":0.125} , "a":1}',
  ],
  ['{"usage":{"cost":0,"n":1}}', IN_TOKENS, '{"usage":{"cost":0.5,"n":1}}'],
  ['{"usage":{"n":1,"cost":{"a":1}}}', IN_BOTH, '{"usage":{"n":1,"cost":0.5,"cost_usd":0.125}}'],
  ['{"usage":{"cost_usd":9,"n":1}}', IN_TOKENS, '{"usage":{"cost_usd":null,"n":1,"cost":0.5}}'],
  ['{"usage":{"cost":1,"cost":2}}', IN_TOKENS, '{"usage":{"cost":0.5,"cost":0.5}}'],
  ['{"usage":{"c\\u006fst":1}}', IN_TOKENS, '{"usage":{"c\\u006fst":0.5}}'],
  ['{"cost":7,"usage":null}', IN_TOKENS, '{"cost":7,"usage":null}'],
  ['{"usage":{},"usage":{"n":1}}', IN_TOKENS, '{"usage":{},"usage":{"n":1,"cost":0.5}}'],
  ['{"choices":[{"usage":{"n":1}}]}', IN_TOKENS, '{"choices":[{"usage":{"n":1}}]}'],
])(
  "shows the cost in the usage of %s, in place of the provider's own, and leaves every other byte",
  (text, cost, expected) => {
    expect(withCost(text, cost)).toBe(expected);
  },
);

test("for any usage, the result parses to the same members with the cost", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, noNullPrototype: true });
  fc.assert(
    fc.property(object, object, fc.nat(2), (fields, usage, indent) => {
      const json = JSON.stringify({ ...fields, usage }, undefined, indent);
      const parsed = JSON.parse(json);
      expect(JSON.parse(withCost(json, IN_BOTH) ?? "")).toEqual({
        ...parsed,
        usage: { ...parsed.usage, cost: 0.5, cost_usd: 0.125 },
      });
    }),
  );
});

test("a usage that is repeated too often is not edited", () => {
  expect(
    withCost(`{${Array.from({ length: 17 }, () => '"usage":{"n":1}').join()}}`, IN_TOKENS),
  ).toBeUndefined();
  const costs = Array.from({ length: 17 }, () => '"cost":1').join();
  expect(withCost(`{"usage":{${costs}}}`, IN_TOKENS)).toBeUndefined();
});

test("the cost is a JSON number with every digit, in tokens and in dollars", () => {
  const charged = 1_230_000_000_000_000_001n;
  expect(exactJson(shownCost(charged, undefined))).toBe('{"cost":1.230000000000000001}');
  const eighth = 125_000_000_000_000_001n;
  expect(exactJson(shownCost(charged, eighth))).toBe(
    '{"cost":1.230000000000000001,"cost_usd":0.153750000000000001355000000000000001}',
  );
  expect(exactJson(shownCost(38n, undefined))).toBe('{"cost":0.000000000000000038}');
  expect(exactJson(shownCost(0n, eighth))).toBe('{"cost":0,"cost_usd":0}');
});
