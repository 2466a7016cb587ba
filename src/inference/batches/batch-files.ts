import type { ClientFilesService } from "../../client-files/client-files.service.ts";
import type { FileReader } from "../../client-files/file-reader.ts";
import type { JobLease } from "../../jobs/lease.ts";
import { AppError, type ErrorCode } from "../../kernel/errors.ts";
import type { BatchState } from "./batch.ts";
import type { RunningBatch } from "./line-ledger.ts";

/** A batch that can be run, and the reader of its input. */
export type OpenedBatch = { readonly batch: RunningBatch; readonly reader: FileReader };

/** The file is gone, or was stored under another secret: reading it again will not help. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(["file_not_found", "precondition_failed"]);

/** Opens the files of a batch for the worker that has its lease. Throws what `ClientFilesService` throws. */
export async function openBatch(
  files: ClientFilesService,
  { endpoint, inputFileId, outputFileId, errorFileId }: BatchState,
  lease: JobLease,
): Promise<OpenedBatch> {
  const { id, account, step } = lease.job;
  const [reader, output, errors] = await Promise.all([
    files.read(inputFileId),
    files.keyOf(outputFileId),
    files.keyOf(errorFileId),
  ]);
  const batch = {
    ...{ id, account, endpoint, lease },
    keyId: step.keyId ?? "",
    output: { id: outputFileId, key: output },
    errors: { id: errorFileId, key: errors },
  };
  return { batch, reader };
}

/** Whether `openBatch` failed by the files themselves, and not because the database is away. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof AppError && UNREADABLE.has(error.code);
}
