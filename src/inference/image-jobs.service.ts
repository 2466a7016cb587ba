import type { HoldsService } from "../accounts/holds.service.ts";
import type { Database } from "../db/database.ts";
import { cancelJob, insertJob, lockOwned } from "../jobs/job.store.ts";
import type { JobView } from "../jobs/job-view.store.ts";
import { type JobsService, jobNotFound } from "../jobs/jobs.service.ts";
import { AppError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { AdmissionService } from "./admission.service.ts";
import type { Caller, Trace } from "./admitted.ts";
import { type ImageJobSpec, type ImageOperation, UNTRIED } from "./image-job-plan.ts";
import { quoteUnits } from "./pricing.ts";
import { type Provider, trustModeOf } from "./provider.ts";
import type { RequestsService } from "./requests.service.ts";
import type { RoutingWishes } from "./routing.ts";

type Needs = {
  readonly database: Database;
  readonly admission: AdmissionService;
  readonly holds: HoldsService;
  readonly jobs: JobsService;
  readonly requests: RequestsService;
  /** Says that there is a job to be done. */
  readonly submitted: () => void;
  /** Says that events were committed. */
  readonly committed: () => void;
  /** After so long a job is ended, however it stands. */
  readonly deadlineSeconds: number;
};

/** Image jobs are of this kind among all jobs. */
export const IMAGE_JOB = "image";

/** What is asked of an image job: the body as it goes to the provider, and how many images that means. */
export type ImageJobAsk = {
  readonly operation: ImageOperation;
  readonly model: string;
  readonly images: number;
  readonly body: Buffer;
  readonly contentType: string;
  readonly wishes: RoutingWishes;
};

/** A job with what it came to: `result` as JSON text while it is kept, `trace` once it is paid for. */
export type ImageJobOutcome = {
  readonly job: JobView;
  readonly result: string | undefined;
  readonly trace: Trace | undefined;
};

const SERVICE_TYPES = { generations: "text-to-image", edits: "image-editing" } as const;
/** Longer than a settlement takes that began within the deadline. */
const GRACE_SECONDS = 60;

/** Takes image jobs on and tells of them; `imageJobWork` does them. */
export class ImageJobsService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Takes a job on: its hold and its row are committed together, before anything is sent. Throws what
   * `AdmissionService.admit` throws, and then there is neither.
   */
  async submit(ask: ImageJobAsk, caller: Omit<Caller, "requestId">): Promise<JobView> {
    const { admission, jobs, submitted, deadlineSeconds } = this.#needs;
    const { operation, model, images, contentType, body, wishes } = ask;
    const id = newId();
    await admission.admit(
      {
        model,
        serviceType: SERVICE_TYPES[operation],
        format: "openai",
        wishes,
        quote: (price) => quoteUnits({ inputUnits: 0, outputUnits: images }, price),
        body: () => body,
        job: {
          requestIdOf: (first) => `async-${first.address.slice(2, 10)}-${id}`,
          insert: (tx, { requestId, candidates }) => {
            const spec: ImageJobSpec = {
              operation,
              model,
              images,
              contentType,
              candidates: candidates.map(toCandidate),
            };
            return insertJob(tx, {
              id,
              kind: IMAGE_JOB,
              account: caller.account,
              requestId,
              spec,
              checkpoint: UNTRIED,
              provider: candidates[0]?.address ?? "",
              body,
              deadlineSeconds,
              graceSeconds: GRACE_SECONDS,
            });
          },
        },
      },
      { ...caller, requestId: id },
    );
    submitted();
    return jobs.get(caller.account, id);
  }

  /** How a job of this account stands, and what it came to. Looking is free. Throws `async_job_not_found`. */
  async outcome(account: string, id: string): Promise<ImageJobOutcome> {
    const { jobs, requests } = this.#needs;
    const job = await jobs.get(account, id);
    if (job.state !== "completed") return { job, result: undefined, trace: undefined };
    const [result, [request]] = await Promise.all([
      jobs.result(job),
      requests.byIds(account, [job.requestId]),
    ]);
    return { job, result, trace: request?.cost ? toTrace(job, request.provider, request.cost) : undefined };
  }

  /**
   * Takes back a job that no worker has begun, and gives its money back; one that is taken back already stays so.
   * Throws `async_job_not_found` and, for one that was begun, `async_job_not_pending`.
   */
  async cancel(account: string, id: string): Promise<JobView> {
    const { database, holds, jobs, committed } = this.#needs;
    const { id: known, requestId } = await jobs.get(account, id);
    await database.transaction(async (tx) => {
      const state = await lockOwned(tx, account, known);
      if (state === undefined) throw jobNotFound();
      if (state === "cancelled") return;
      if (!(await cancelJob(tx, known)))
        throw new AppError(
          "async_job_not_pending",
          `This job is ${state}: only a pending one can be cancelled.`,
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
    return jobs.get(account, id);
  }
}

function toCandidate(provider: Provider): ImageJobSpec["candidates"][number] {
  const { address, inputPrice, outputPrice } = provider;
  return {
    address,
    inputPrice: inputPrice.toString(),
    outputPrice: outputPrice.toString(),
    trustMode: trustModeOf(provider),
  };
}

function toTrace(
  { requestId }: JobView,
  provider: string,
  { input, output, total }: { readonly input: bigint; readonly output: bigint; readonly total: bigint },
): Trace {
  const billing = { input_cost: `${input}`, output_cost: `${output}`, total_cost: `${total}` };
  return { request_id: requestId, provider, billing };
}
