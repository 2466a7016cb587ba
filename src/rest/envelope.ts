import { z } from "zod";
import type { AppError, ErrorCode } from "../kernel/errors.ts";
import { FILE_FAILURES } from "../storage/file-failures.ts";

/** The HTTP statuses of the storage endpoints: standard ones, or 200 and 600 like the original gateway. */
export type StorageStatus = "http" | "legacy";

const INVALID = { code: 1, message: "Invalid parameter" } as const;
const INTERNAL = { code: 2, message: "Internal server error" } as const;

/** The envelope's codes (facts: storage section 1.2); every other failure is `INVALID` or, from 500 on, `INTERNAL`. */
const CODES: Readonly<Partial<Record<ErrorCode, { readonly code: number; readonly message: string }>>> = {
  file_not_found: { code: 101, message: FILE_FAILURES.file_not_found },
  file_pruned: { code: 102, message: FILE_FAILURES.file_pruned },
  file_not_finalized: { code: 103, message: FILE_FAILURES.file_not_finalized },
  file_path_not_found: { code: 104, message: "File path not found" },
  file_too_large: { code: 105, message: "File size too large" },
  folder_malformed: { code: 106, message: "File type unsupported" },
};

/** Errors whose `data` would only repeat the message. */
const WITHOUT_DATA: ReadonlySet<ErrorCode> = new Set(["file_not_found", "file_pruned", "file_not_finalized"]);

/** Statuses with a meaning in HTTP itself, which `legacy` does not change. */
const HTTP_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 413, 416, 429]);
const LEGACY_INTERNAL = 600;

/** The schema of a JSON response of the storage endpoints, given that of its `data`. */
export function envelopeOf<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ code: z.literal(0), message: z.literal("Success"), data });
}

/** The body of every failure of the storage endpoints. */
export const ENVELOPE_FAILURE = z
  .strictObject({ code: z.int().min(1), message: z.string(), data: z.string().nullable() })
  .meta({ id: "StorageError" });

/** A successful response. */
export function envelope(data: unknown): {
  readonly code: 0;
  readonly message: "Success";
  readonly data: unknown;
} {
  return { code: 0, message: "Success", data };
}

/** A failure in the envelope, with its HTTP status. */
export function toEnvelopeFailure(
  error: AppError,
  statuses: StorageStatus,
): { readonly status: number; readonly body: z.output<typeof ENVELOPE_FAILURE> } {
  const known = CODES[error.code] ?? (error.status >= 500 ? INTERNAL : INVALID);
  const status = statuses === "http" ? error.status : legacyStatus(error.status);
  return { status, body: { ...known, data: dataOf(error) } };
}

/** The envelope has no member for the field, and the protocol's texts about a segment do not name it. */
function dataOf({ code, message, param }: AppError): string | null {
  if (WITHOUT_DATA.has(code)) return null;
  return code === "segment_refused" && param ? `${param}: ${message}` : message;
}

function legacyStatus(status: number): number {
  if (status >= 500) return LEGACY_INTERNAL;
  return HTTP_STATUSES.has(status) ? status : 200;
}
