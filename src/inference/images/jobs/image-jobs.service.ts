import type { HoldsService } from "../../../accounts/holds.service.ts";
import type { Database } from "../../../db/database.ts";
import { cancelJob, insertJob, lockOwned } from "../../../jobs/job.store.ts";
import { findJob } from "../../../jobs/job-view.store.ts";
import { type JobsService, type JobView, jobNotFound } from "../../../jobs/jobs.service.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/text/ids.ts";
import type { Reach } from "../../../keys/auth/permissions.ts";
import type { AdmissionService } from "../../billing/admission.service.ts";
import { type AdmissionPlan, affordable, type Payer } from "../../billing/admission-plan.ts";
import type { Trace } from "../../billing/admitted.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import { type Provider, trustModeOf } from "../../providers/provider.ts";
import { RequestTrace } from "../../requests/request-trace.ts";
import type { RequestsService } from "../../requests/requests.service.ts";
import type { Choice } from "../../routing/choice.ts";
import type { RoutingPreferences } from "../../routing/routing-preferences.ts";
import type { AnsweredImage } from "../image-answer.ts";
import type { ImageRequest } from "../image-request.ts";
import { imageAdmissionRequest } from "../images.service.ts";
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
  /** Signals that a job was submitted. */
  readonly submitted: () => void;
  /** Signals that events were committed. */
  readonly committed: () => void;
  /** A job is ended after this time, whatever its state. */
  readonly deadlineSeconds: number;
};

/** The job kind of image jobs. */
export const IMAGE_JOB = "image";

/** A request for an image job: the client's own body, and the preferences of its headers. */
export type ImageJobRequest = {
  readonly operation: ImageOperation;
  readonly body: Buffer;
  readonly contentType: string;
  readonly preferences: RoutingPreferences;
  /** Whether to verify the provider's signature; `verify_tee` in the body also enables it. */
  readonly verifyTee?: boolean;
};

/** A job with its outcome: `result` as JSON text while it is stored, `trace` once it is billed. */
export type ImageJobOutcome = {
  readonly job: JobView;
  readonly result: string | undefined;
  readonly trace: Trace | undefined;
};

/** Longer than a settlement that began within the deadline takes. */
const GRACE_SECONDS = 60;

/** A job before it is admitted; `request` is read from the client's body. */
type PlannedJob = {
  readonly id: string;
  readonly submission: ImageJobRequest;
  readonly request: ImageRequest;
};

/** Accepts image jobs and returns their state; `imageJobWork` runs them. */
export class ImageJobsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Accepts a job: its hold and its row are committed together, before anything is sent. Returns the pending job.
   * Throws `invalid_body` and what `AdmissionService.admit` throws; neither hold nor row exists then.
   */
  async submit(submission: ImageJobRequest, payer: Payer): Promise<JobView> {
    const request = await readJobRequest(submission, submission.body);
    const job = await RequestTrace.admit(request, async (trace) => {
      const admitted = await this.#admit(submission, request, payer);
      // The worker settles the request.
      trace?.handOver();
      return admitted;
    });
    this.#dependencies.submitted();
    return job;
  }

  /** Plans the job and creates it, again while the restrictions of its key change. */
  async #admit(submission: ImageJobRequest, request: ImageRequest, payer: Payer): Promise<JobView> {
    const { admission } = this.#dependencies;
    const id = newId();
    let plan = await admission.plan(imageAdmissionRequest(request, submission.preferences), payer);
    for (;;) {
      try {
        return await this.#create({ id, submission, request }, plan);
      } catch (error) {
        plan = await admission.replan(plan, error);
      }
    }
  }

  /** Commits a job and its hold together. Throws what `HoldsService.hold` throws, and then neither exists. */
  async #create({ id, submission, request }: PlannedJob, plan: AdmissionPlan): Promise<JobView> {
    const { database, holds, deadlineSeconds } = this.#dependencies;
    const { payer, hold } = plan;
    const requestId = `async-${hold.provider.slice(2, 10)}-${id}`;
    const placed = { ...hold, id: requestId };
    const created = database.transaction(async (tx) => {
      const candidates = affordable(plan, await holds.holdIn(tx, placed));
      await insertJob(tx, {
        id,
        kind: IMAGE_JOB,
        account: payer.account,
        keyId: payer.keyId,
        requestId,
        spec: toSpec(submission, request, { candidates, refused: plan.choice.refused }),
        checkpoint: UNTRIED,
        provider: candidates[0]?.address ?? "",
        body: submission.body,
        deadlineSeconds,
        graceSeconds: GRACE_SECONDS,
      });
      const job = await findJob(tx, payer, id);
      if (!job) throw new Error("a job was not found after it was inserted");
      return job;
    });
    return holds.awaitCommit(placed, created);
  }

  /**
   * The state of a job within reach, and its outcome. Not billed. `verifyTee` verifies the provider's signature of a
   * result that was not checked yet. `reserve` receives the size of the result before it is read. Throws
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

  /** The images of a job from `JobsService`; undefined if they are no longer stored. Throws `unavailable`. */
  async images(job: JobView): Promise<readonly AnsweredImage[] | undefined> {
    const { jobs, bodies } = this.#dependencies;
    const result = await jobs.result(job);
    return result === undefined ? undefined : (await bodies.readImages(result)).images;
  }

  /** The addresses of a job's candidate providers, in lower case. */
  providersOf({ spec }: JobView): readonly string[] {
    return (spec as ImageJobSpec).candidates.map(({ address }) => address);
  }

  /** The model id of a job. */
  modelOf({ spec }: JobView): string {
    return (spec as ImageJobSpec).model;
  }

  /** Whether a result is verified; undefined if verification was not requested. */
  async #verdict(job: JobView, isRequested: boolean): Promise<boolean | undefined> {
    const { evidence, catalogue } = this.#dependencies;
    const { requestId, account } = job;
    if (!isRequested && !(job.spec as ImageJobSpec).verifyTee) return undefined;
    const [known] = await evidence.byRequests(account, [requestId]);
    if (known) return known.verdict === "verified";
    const provider = catalogue.provider(job.step.provider ?? "");
    if (!provider) return false;
    const { answerId } = job.checkpoint as ImageJobCheckpoint;
    return evidence.check({ requestId, provider, answerId: answerId ?? undefined });
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

function toSpec(
  { operation, contentType, verifyTee }: ImageJobRequest,
  request: ImageRequest,
  { candidates, refused }: Choice,
): ImageJobSpec {
  return {
    operation,
    model: request.model,
    images: request.count,
    contentType,
    verifyTee: (verifyTee || request.verifyTee) ?? false,
    refused,
    candidates: candidates.map(toCandidate),
  };
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
