import { expect, test, vi } from "vitest";
import { oncePer } from "../../../src/kernel/once-per.ts";

test("a value is computed once for each object, and anew for a copy of it", () => {
  const lengthOf = vi.fn(({ text }: { readonly text: string }) => text.length);
  const [once, other] = [oncePer(lengthOf), oncePer(({ text }: { readonly text: string }) => text)];
  const document = { text: "{ a }" };
  expect([once(document), once(document), other(document)]).toEqual([5, 5, "{ a }"]);
  expect(lengthOf).toHaveBeenCalledTimes(1);
  const copy = { ...document, text: "{ a b }" };
  expect([once(copy), other(copy), once(document)]).toEqual([7, "{ a b }", 5]);
  expect(lengthOf).toHaveBeenCalledTimes(2);
  expect(JSON.stringify(document)).toBe('{"text":"{ a }"}');
});
