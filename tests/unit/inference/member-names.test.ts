import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readFields } from "../../../src/inference/body/request-fields.ts";
import { measureJson } from "../../../src/kernel/text/json-shape.ts";
import { threadMs } from "../../support/attack/event-loop.ts";

/** A body with a list of objects; `members` returns the members of one, without the value of the last. */
const objectsOf = (count: number, members: (n: number) => string) =>
  Buffer.from(`{"l":[${Array.from({ length: count }, (_, n) => `{${members(n)}:0}`).join(",")}]}`);

describe("the member names of a JSON body", () => {
  test("are counted as the sequences that its objects begin with", () => {
    const name = fc.constantFrom("a", "b", "c", 'q"', "\n", "a".repeat(64));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.string(), tie("list"), tie("object")),
      list: fc.array(tie("value"), { maxLength: 4 }),
      object: fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(value, (json) => {
        const shapes = shapesOf(json);
        const text = Buffer.from(JSON.stringify(json));
        const excessOf = (maxShapes: number) =>
          measureJson(text, { maxDepth: 64, maxValues: 1_000, maxShapes }).excess;
        expect(excessOf(shapes.size)).toBeUndefined();
        if (shapes.size > 0) expect(excessOf(shapes.size - 1)).toContain("different member names");
      }),
    );
  });

  test.each([
    ["8,193 names", objectsOf(8_193, (n) => `"a${n}"`)],
    ["8,193 orders of 192 names", objectsOf(8_193, (n) => `"a${n % 65}":0,"b${Math.floor(n / 65)}"`)],
    [
      "8,193 long names that differ in the middle",
      objectsOf(8_193, (n) => `"${"a".repeat(90)}${n}${"a".repeat(90)}"`),
    ],
    ["28,000 names", objectsOf(28_000, (n) => `"a${n}"`)],
  ])("are refused before the body is parsed: %s", (_what, bytes) => {
    const startedMs = threadMs();
    expect(() => readFields(z.looseObject({}), bytes)).toThrow(
      "The body has more than 8192 different member names, or orders of them.",
    );
    expect(threadMs() - startedMs).toBeLessThan(100);
  });

  test.each([
    ["8,192 names", objectsOf(8_191, (n) => `"a${n}"`)],
    ["the same two names 20,000 times", objectsOf(20_000, () => '"role":0,"content"')],
    ["numbers as names", objectsOf(1, (n) => `"${n}":0,"4294967296":0,"x"`)],
  ])("are read: %s", (_what, bytes) => {
    expect(readFields(z.looseObject({}), bytes)).toEqual(JSON.parse(bytes.toString()));
  });
});

/** The sequences of member names, as JSON, that the objects of a value begin with. */
function shapesOf(value: unknown): Set<string> {
  if (typeof value !== "object" || value === null) return new Set();
  const names = Array.isArray(value) ? [] : Object.keys(value);
  const own = names.map((_, n) => JSON.stringify(names.slice(0, n + 1)));
  return new Set([...own, ...Object.values(value).flatMap((item) => [...shapesOf(item)])]);
}
