import { expect, test } from "vitest";
import { hasAtMost, shortString } from "../../../src/kernel/text/characters.ts";

test("the length of a text is that of JSON Schema, whose characters are one or two units of a string", () => {
  for (const character of ["a", "😀", "𠮷"]) {
    for (const isValid of [
      (text: string) => hasAtMost(text, 256),
      (text: string) => shortString(256).safeParse(text).success,
    ]) {
      expect(isValid(character.repeat(256))).toBe(true);
      expect(isValid(character.repeat(257))).toBe(false);
      expect(isValid(`${"😀".repeat(254)}aaa`)).toBe(false);
      expect(isValid(`${"😀".repeat(255)}a`)).toBe(true);
    }
  }
  expect(hasAtMost("", 256)).toBe(true);
  expect(shortString(256).safeParse("").success).toBe(false);
});
