import { AppError } from "../kernel/errors.ts";

/** The message of each error about a whole file, worded as by the network's gateway (facts: storage section 1.2). */
export const FILE_FAILURES = {
  file_not_found: "File not found",
  file_pruned: "File already pruned",
  file_not_finalized: "File not finalized yet",
} as const;

/** The error about a file with this code: one message on REST and GraphQL, whichever module detects it. */
export function fileFailure(code: keyof typeof FILE_FAILURES): AppError {
  return new AppError(code, FILE_FAILURES[code]);
}
