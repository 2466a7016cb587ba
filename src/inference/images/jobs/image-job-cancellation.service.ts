import type { HoldsService } from "../../../accounts/holds.service.ts";
import type { Database } from "../../../db/database.ts";
import { cancelJob, lockOwned } from "../../../jobs/job.store.ts";
import { type JobsService, type JobView, jobNotFound } from "../../../jobs/jobs.service.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { Reach } from "../../../keys/auth/permissions.ts";

type Dependencies = {
  readonly database: Database;
  readonly holds: Pick<HoldsService, "settleIn">;
  readonly jobs: JobsService;
  /** Signals that events were committed. */
  readonly committed: () => void;
};

/** Cancels image jobs. */
export class ImageJobCancellationService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Cancels a job that no worker has started, and releases its hold. Idempotent. Throws `async_job_not_found` and, for
   * a started job, `async_job_not_pending`.
   */
  async cancel(reach: Reach, id: string): Promise<JobView> {
    const { database, holds, jobs, committed } = this.#dependencies;
    const { id: known, account, requestId } = await jobs.get(reach, id);
    await database.transaction(async (tx) => {
      const state = await lockOwned(tx, account, known);
      if (state === undefined) throw jobNotFound();
      if (state === "cancelled") return;
      if (!(await cancelJob(tx, known)))
        throw new AppError(
          "async_job_not_pending",
          `This job is ${state}: only a pending job can be cancelled.`,
        );
      await holds.settleIn(tx, {
        id: requestId,
        outcome: "aborted",
        inputTokens: undefined,
        outputTokens: undefined,
        usageEstimated: false,
        inputCost: 0n,
        outputCost: 0n,
        errorCode: "cancelled",
        firstByteMs: undefined,
        durationMs: undefined,
      });
    });
    committed();
    return jobs.get(reach, id);
  }
}
