import fc from "fast-check";
import { expect, test } from "vitest";
import { exactToken } from "../../../src/kernel/text/amount.ts";
import { ExactNumber, exactJson } from "../../../src/kernel/text/exact-json.ts";

test("numbers have all their digits and no exponent, wherever they are", () => {
  const small = exactToken(38n);
  expect(exactJson({ a: [{ usage: { cost: small } }], b: exactToken(10n ** 36n + 1n) })).toBe(
    '{"a":[{"usage":{"cost":0.000000000000000038}}],"b":1000000000000000000.000000000000000001}',
  );
  expect(JSON.stringify({ cost: small })).toBe('{"cost":3.8e-17}');
});

test("for any other value, the text is that of JSON.stringify, however deep it is", () => {
  const dated = { at: new Date(0), none: undefined, list: [undefined] };
  expect(exactJson(dated)).toBe(JSON.stringify(dated));
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 9 }), (value) => {
      expect(exactJson(value)).toBe(JSON.stringify(value));
    }),
  );
});

test("only a decimal is a number", () => {
  for (const digits of ["", "1e3", "01", "1.", ".5", "NaN", '1,"a":2'])
    expect(() => new ExactNumber(digits), digits).toThrow("not a decimal");
});
