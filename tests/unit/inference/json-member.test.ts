import fc from "fast-check";
import { expect, test } from "vitest";
import { memberEdits, valuesByName, withEdits } from "../../../src/inference/body/json-member.ts";

const set = (json: string) => {
  const body = Buffer.from(json);
  return withEdits(body, memberEdits(body, { usage: { n: 1 } })).toString();
};

test.each([
  ['{"a":1}', '{"a":1,"usage":{"n":1}}'],
  ['{"usage":null,"a":1.10}', '{"usage":{"n":1},"a":1.10}'],
  ['{"a":{"usage":2},"usage" : [1,{"b":","}] }', '{"a":{"usage":2},"usage" :{"n":1}}'],
  ['{"a":"\\"usage\\":3,","us\\u0061ge":-3}', '{"a":"\\"usage\\":3,","us\\u0061ge":{"n":1}}'],
  ['{"usage":1,"b":"usage","usage":2}', '{"usage":{"n":1},"b":"usage","usage":{"n":1}}'],
  ['{"a":"\\\\","usage":9e15}', '{"a":"\\\\","usage":{"n":1}}'],
])("sets the member of the top-level object and leaves every other byte unchanged: %s", (json, expected) => {
  expect(set(json)).toBe(expected);
});

test("for any object, the result parses to the same value with that member set", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, noNullPrototype: true });
  fc.assert(
    fc.property(object, fc.option(fc.jsonValue()), fc.nat(2), (fields, usage, indent) => {
      const given = usage === null ? fields : { usage, ...fields };
      const json = JSON.stringify(given, undefined, indent);
      expect(JSON.parse(set(json))).toEqual({ ...JSON.parse(json), usage: { n: 1 } });
    }),
  );
});

test("several members are set at once, and one that is repeated too often is refused", () => {
  const body = Buffer.from('{"model":"a","n":1.0}');
  const edits = memberEdits(body, { usage: null, model: "b" });
  expect(withEdits(body, edits).toString()).toBe('{"model":"b","n":1.0,"usage":null}');
  const hostile = Buffer.from(`{${Array.from({ length: 17 }, () => '"usage":1').join()}}`);
  expect(() => memberEdits(hostile, { usage: 2 })).toThrow("repeats");
});

test("a long string is skipped with its quotes and backslashes, wherever its short part ends", () => {
  for (let length = 24; length < 40; length++)
    for (const end of ["", "\\\\", '\\"', '\\\\\\"', "\\\\\\\\"]) {
      const text = `${"x".repeat(length)}${end}`;
      const json = `{"a":"${text}","usage":1,"${text}":{"usage":2}}`;
      expect(JSON.parse(json).usage).toBe(1);
      expect(set(json)).toBe(`{"a":"${text}","usage":{"n":1},"${text}":{"usage":2}}`);
    }
});

test("several names are found in one pass: every value of each, in the order of the names", () => {
  const json = Buffer.from('{"b" : 1, "a":[{"b":2}],"c\\u0062":3,"\\u0062":4,"bb":5,"":6}');
  const found = valuesByName(json, ["a", "b", "d"]).map((ranges) =>
    ranges.map(({ start, end }) => JSON.parse(json.toString("utf8", start, end))),
  );
  expect(found).toEqual([[[{ b: 2 }]], [1, 4], []]);
});
