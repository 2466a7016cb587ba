import { expect, test } from "vitest";
import { failureText } from "../../../src/db/embedded/failure-text.ts";

test("failures of the embedded database are named, also those that have only a number", () => {
  expect(failureText(new Error("The folder is locked."))).toBe("The folder is locked");
  expect(failureText({ name: "ErrnoError", errno: 51 })).toBe("no space left on the disk");
  expect(failureText({ name: "ErrnoError", errno: 69 })).toBe("read-only file system");
  expect(failureText({ name: "ErrnoError", errno: 7 })).toBe("file system error 7");
  expect(failureText("a text")).toBe("a text");
});
