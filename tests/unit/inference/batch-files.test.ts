import { expect, test } from "vitest";
import { isUnreadable } from "../../../src/inference/batches/batch-files.ts";
import { AppError } from "../../../src/kernel/errors.ts";

test.each([
  [new AppError("file_not_found", "gone"), true],
  [new AppError("precondition_failed", "another secret"), true],
  [new AppError("unavailable", "the database is away"), false],
  [new Error("a bug"), false],
])("lines of a batch end without their input only if it can never be read: %s is %s", (error, isFinal) => {
  expect(isUnreadable(error)).toBe(isFinal);
});
