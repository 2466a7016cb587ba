import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { toYaml } from "../../../gateway/pages/yaml.ts";

test("any JSON value is read from YAML as it was written", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json: unknown = JSON.parse(JSON.stringify(value));
      expect(parse(toYaml(json))).toEqual(json);
    }),
  );
});

test("names and texts that YAML has other meanings for stay texts", () => {
  const value = { no: "yes", "200": "1e3", "a: b": ["- c", "# d", ""], null: "null", e: [[], {}, [[1]]] };
  expect(parse(toYaml(value))).toEqual(value);
  expect(parse(toYaml(value), { version: "1.1" })).toEqual(value);
});

test("the OpenAPI document is the same in YAML", () => {
  const document: unknown = JSON.parse(readFileSync("schema/openapi.json", "utf8"));
  expect(parse(toYaml(document))).toEqual(document);
});
