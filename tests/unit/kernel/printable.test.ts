import { expect, test } from "vitest";
import { isPrintable } from "../../../src/kernel/text/printable.ts";

test.each(["a", "Team 7", "Müller", "名前", "👩‍💻 laptop", "می‌خواهم", "क्‍ष", "🏳️‍🌈"])(
  "%j is printable",
  (text) => {
    expect(isPrintable(text)).toBe(true);
  },
);

test.each([
  "\u0000",
  "a\n",
  "\u0085",
  "\u200b",
  "\u200d",
  "a\u200d",
  "\u200ca",
  "a\u200bb",
  "\u202ecba",
  "\u2066a",
  "\u00ad",
  "\u2060",
  "\ufeff",
  "\u2028",
  "\ud800",
  "\u{e0041}",
])("%j is not", (text) => {
  expect(isPrintable(text)).toBe(false);
});
