import type { HoldsService } from "../../../accounts/holds.service.ts";
import type { Database } from "../../../db/database.ts";
import { cancelJob, insertJob, lockOwned } from "../../../jobs/job.store.ts";
import { findJob } from "../../../jobs/job-view.store.ts";
import { type JobsService, type JobView, jobNotFound } from "../../../jobs/jobs.service.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/text/ids.ts";
import type { Reach } from "../../../keys/auth/permissions.ts";
import type { AdmissionService } from "../../billing/admission.service.ts";
import type { Caller, Trace } from "../../billing/admitted.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import { type Provider, trustModeOf } from "../../providers/provider.ts";
import type { RequestsService } from "../../requests/requests.service.ts";
import type { RoutingPreferences } from "../../routing/routing-preferences.ts";
import type { AnsweredImage } from "../image-answer.ts";
import { askForImages } from "../images.service.ts";
import {
  type ImageJobCheckpoint,
  type ImageJobSpec,
  type ImageOperation,
  readJobRequest,
  UNTRIED,
} from "./image-job-plan.ts";

type Dependencies = {
  readonly database: Database;
  readonly admission: AdmissionService;
  readonly holds: HoldsService;
  readonly jobs: JobsService;
  readonly requests: RequestsService;
  readonly catalogue: Pick<CatalogueService, "provider">;
  readonly evidence: Pick<EvidenceService, "check" | "byRequests">;
  readonly bodies: Pick<BodyPool, "readImages">;
  /** Says that there is a job to be done. */
  readonly submitted: () => void;
  /** Says that events were committed. */
  readonly committed: () => void;
  /** After so long a job is ended, however it stands. */
  readonly deadlineSeconds: number;
};

/** Image jobs are of this kind among all jobs. */
export const IMAGE_JOB = "image";

/** What is asked of an image job: the client's own body, and the preferences in its headers. */
export type ImageJobRequest = {
  readonly operation: ImageOperation;
  readonly body: Buffer;
  readonly contentType: string;
  readonly preferences: RoutingPreferences;
  /** Whether the provider's signature is to be checked; `verify_tee` of the body says so too. */
  readonly verifyTee?: boolean;
};

/** A job with what it came to: `result` as JSON text while it is kept, `trace` once it is paid for. */
export type ImageJobOutcome = {
  readonly job: JobView;
  readonly result: string | undefined;
  readonly trace: Trace | undefined;
};

/** Longer than a settlement takes that began within the deadline. */
const GRACE_SECONDS = 60;

/** Takes image jobs on and tells of them; `imageJobWork` does them. */
export class ImageJobsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Takes a job on: its hold and its row are committed together, before anything is sent. Answers how it stood then,
   * pending. Throws `invalid_body` and what `AdmissionService.admit` throws, and then there is neither.
   */
  async submit(ask: ImageJobRequest, caller: Omit<Caller, "requestId">): Promise<JobView> {
    const { admission, submitted, deadlineSeconds } = this.#dependencies;
    const { operation, contentType, body, preferences } = ask;
    const request = await readJobRequest(ask, body);
    const id = newId();
    let made: JobView | undefined;
    await admission.admit(
      {
        ...askForImages(request, preferences),
        job: {
          requestIdOf: (first) => `async-${first.address.slice(2, 10)}-${id}`,
          insert: async (tx, { requestId, candidates, refused }) => {
            const spec: ImageJobSpec = {
              operation,
              model: request.model,
              images: request.count,
              contentType,
              verifyTee: (ask.verifyTee || request.verifyTee) ?? false,
              refused,
              candidates: candidates.map(toCandidate),
            };
            await insertJob(tx, {
              id,
              kind: IMAGE_JOB,
              account: caller.account,
              keyId: caller.keyId,
              requestId,
              spec,
              checkpoint: UNTRIED,
              provider: candidates[0]?.address ?? "",
              body,
              deadlineSeconds,
              graceSeconds: GRACE_SECONDS,
            });
            made = await findJob(tx, caller, id);
          },
        },
      },
      { ...caller, requestId: id },
    );
    if (!made) throw new Error("a job was admitted and not made");
    submitted();
    return made;
  }

  /**
   * How a job within reach stands, and what it came to. Looking is free. With `verifyTee` its provider is asked to
   * vouch for a result that was not checked yet. `reserve` is told the size of the result before it is read. Throws
   * `async_job_not_found`, and what `reserve` throws.
   */
  async outcome(
    reach: Reach,
    id: string,
    { verifyTee = false, reserve = () => {} }: { verifyTee?: boolean; reserve?(bytes: number): void } = {},
  ): Promise<ImageJobOutcome> {
    const { jobs, requests } = this.#dependencies;
    const job = await jobs.get(reach, id);
    if (job.resultBytes !== null) reserve(job.resultBytes);
    if (job.state !== "completed") return { job, result: undefined, trace: undefined };
    const [result, [request], verified] = await Promise.all([
      jobs.result(job),
      requests.byIds(job.account, [job.requestId]),
      this.#verdict(job, verifyTee),
    ]);
    if (!request?.cost) return { job, result, trace: undefined };
    const trace = toTrace(job, request.provider, request.cost);
    return { job, result, trace: verified === undefined ? trace : { ...trace, tee_verified: verified } };
  }

  /** The images of a job that `JobsService` found; undefined when they are not kept. Throws `unavailable`. */
  async images(job: JobView): Promise<readonly AnsweredImage[] | undefined> {
    const { jobs, bodies } = this.#dependencies;
    const result = await jobs.result(job);
    return result === undefined ? undefined : (await bodies.readImages(result)).images;
  }

  /** Those that a job may be asked of by, in lower case: whoever may serve it. */
  providersOf({ spec }: JobView): readonly string[] {
    return (spec as ImageJobSpec).candidates.map(({ address }) => address);
  }

  /** The id of the model that a job asks. */
  modelOf({ spec }: JobView): string {
    return (spec as ImageJobSpec).model;
  }

  /** Whether a result is verified; undefined when that was not requested. */
  async #verdict(job: JobView, isAsked: boolean): Promise<boolean | undefined> {
    const { evidence, catalogue } = this.#dependencies;
    const { requestId, account } = job;
    if (!isAsked && !(job.spec as ImageJobSpec).verifyTee) return undefined;
    const [known] = await evidence.byRequests(account, [requestId]);
    if (known) return known.verdict === "verified";
    const provider = catalogue.provider(job.step.provider ?? "");
    if (!provider) return false;
    const { answerId } = job.checkpoint as ImageJobCheckpoint;
    return evidence.check({ requestId, provider, answerId: answerId ?? undefined });
  }

  /**
   * Takes back a job that no worker has begun, and gives its money back; one that is taken back already stays so.
   * Throws `async_job_not_found` and, for one that was begun, `async_job_not_pending`.
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
    return jobs.get(reach, id);
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
