import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NODE_NAMES, readKeyOf, readNodeId, toNodeId } from "../../../subgraphs/shared/nodes/node-id.ts";

const name = fc.constantFrom(...NODE_NAMES);

test("a global id gives back the type and the raw key that it was made of, whatever the key", () => {
  fc.assert(
    fc.property(name, fc.string({ unit: "grapheme" }), (type, key) => {
      expect(readNodeId(toNodeId(type, key))).toEqual({ name: type, key });
      expect(toNodeId(type, key)).toMatch(/^[A-Za-z0-9_-]+$/);
    }),
  );
});

test("different entities have different ids", () => {
  fc.assert(
    fc.property(name, fc.string(), name, fc.string(), (type, key, otherType, otherKey) => {
      const isSame = type === otherType && key === otherKey;
      expect(toNodeId(type, key) === toNodeId(otherType, otherKey)).toBe(isSame);
    }),
  );
});

test("other texts are not global ids, and are read as raw ids", () => {
  for (const text of [
    "",
    "none",
    "Model:m",
    `${toNodeId("Model", "m")}=`,
    "0x12",
    "5f9d6b0a-6f0b-4c8e-9d3b-2f6f3d1c0a11",
  ]) {
    expect([text, readNodeId(text)]).toEqual([text, undefined]);
    expect(readKeyOf("Model", text)).toBe(text);
  }
  expect(readKeyOf("Model", toNodeId("Model", "m"))).toBe("m");
  expect(readKeyOf("Model", toNodeId("Provider", "m"))).toBe(toNodeId("Provider", "m"));
});
