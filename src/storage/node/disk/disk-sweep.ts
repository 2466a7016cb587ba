import type { Database } from "../../../db/database.ts";
import { inBatches } from "../../../kernel/async/periodic-task.ts";
import { forgetUnsubmitted, lockUnsubmitted } from "../held/held-changes.store.ts";
import type { DiskFolder } from "./disk-folder.ts";

/** All statements of an embedded database wait for the deletions of one batch. */
const BATCH = 25;

/**
 * Deletes the files that were not submitted within `hours` of their last segment. A file leaves the disk before its row is
 * deleted: the row of one that cannot be deleted, or whose process ends in between, is found again by the next sweep.
 * Returns the count. Throws the last failure, after all other files were deleted.
 */
export async function deleteUnsubmitted(
  { database, folder }: { readonly database: Database; readonly folder: DiskFolder },
  { chainId, hours }: { readonly chainId: number; readonly hours: number },
): Promise<number> {
  let failure: { readonly reason: unknown } | undefined;
  const count = await inBatches(BATCH, (limit) =>
    database.transaction(async (tx) => {
      const old = await lockUnsubmitted(tx, { chainId, hours, limit });
      const outcomes = await Promise.allSettled(old.map((file) => folder.remove(file)));
      failure = outcomes.find((outcome) => outcome.status === "rejected") ?? failure;
      const deleted = old.filter((_, at) => outcomes[at]?.status === "fulfilled");
      await forgetUnsubmitted(
        tx,
        deleted.map(({ id }) => id),
      );
      return deleted.length;
    }),
  );
  if (failure) throw failure.reason;
  return count;
}
