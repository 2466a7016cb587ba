import { expect, test } from "vitest";
import { keyChanges, localTime } from "../../../gateway/dashboard/app/pages/keys/key-changes.ts";
import { changesOf } from "../../../gateway/dashboard/app/parts/form/changes.ts";
import { text } from "../../../gateway/dashboard/app/parts/form/texts.ts";

test("the changes of a form are its edited fields, whatever the others hold", () => {
  // As the form reads it, to the minute.
  const values = { name: "new", expiresAt: "2027-10-31T00:30:00.000Z", creditLimit: null };
  expect(changesOf(values, { name: true })).toEqual({ name: "new" });
  expect(changesOf(values, { creditLimit: true, expiresAt: false })).toEqual({ creditLimit: null });
  expect(changesOf(values, {})).toEqual({});
});

test("a limit of a key that was emptied is cleared, and one that was not edited is not named", () => {
  expect(keyChanges({ name: "new" })).toEqual({ name: "new", clear: [] });
  expect(keyChanges({ creditLimit: null, expiresAt: null, maxOutputTokens: 5 })).toEqual({
    maxOutputTokens: 5,
    clear: ["CREDIT_LIMIT", "EXPIRES_AT"],
  });
});

test("a time is shown as what a field of a date and a time takes", () => {
  expect(localTime("2027-10-31T01:30:45.123Z")).toMatch(/^2027-10-3[01]T\d\d:\d\d$/);
});

test("a text that is too long is refused in words", () => {
  const name = text(100, "A name.");
  expect(name.safeParse("n".repeat(100)).success).toBe(true);
  const messageOf = (given: string) => name.safeParse(given).error?.issues[0]?.message;
  expect(messageOf("n".repeat(101))).toBe("At most 100 characters.");
  expect(messageOf(" ")).toBe("A name.");
});
