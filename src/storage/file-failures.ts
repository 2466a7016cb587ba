import { AppError } from "../kernel/errors.ts";

/** The text of each failure of a whole file, as the network's gateway words it (facts: storage section 1.2). */
export const FILE_FAILURES = {
  file_not_found: "File not found",
  file_pruned: "File already pruned",
  file_not_finalized: "File not finalized yet",
} as const;

/** The failure of a file with this code: one text on REST and the graph, whoever found it out. */
export function fileFailure(code: keyof typeof FILE_FAILURES): AppError {
  return new AppError(code, FILE_FAILURES[code]);
}
