import type { HoldsService } from "../../../accounts/holds.service.ts";
import { failedSettlement } from "../../../accounts/settlements.store.ts";
import type { Database, Transaction } from "../../../db/database.ts";
import { cancelJob, insertJob, lockOwned } from "../../../jobs/job.store.ts";
import { findJob } from "../../../jobs/job-view.store.ts";
import type { JobView } from "../../../jobs/jobs.service.ts";
import { newId } from "../../../kernel/text/ids.ts";
import {
  type AdmissionPlan,
  type AdmissionService,
  affordable,
  type Payer,
} from "../../billing/admission.service.ts";
import { withVerification } from "../../guardrails/guarded-request.ts";
import { type Provider, trustModeOf } from "../../providers/provider.ts";
import { RequestTrace } from "../../requests/request-trace.ts";
import type { Choice } from "../../routing/choice.ts";
import type { RoutingPreferences } from "../../routing/routing-preferences.ts";
import type { ImageRequest } from "../image-request.ts";
import { imageAdmissionRequest } from "../images.service.ts";
import { type ImageJobSpec, type ImageOperation, readJobRequest, UNTRIED } from "./image-job-plan.ts";

type Dependencies = {
  readonly database: Database;
  readonly admission: AdmissionService;
  readonly holds: Pick<HoldsService, "holdIn" | "settleIn" | "commit">;
  /** Signals that a job was submitted. */
  readonly submitted: () => void;
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

/** Longer than a settlement that began within the deadline takes. */
const GRACE_SECONDS = 60;

/** A job before it is admitted; `request` is read from the client's body. */
type PlannedJob = {
  readonly id: string;
  readonly submission: ImageJobRequest;
  readonly request: ImageRequest;
};

/** Accepts image jobs; `imageJobWork` runs them. */
export class ImageJobsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Accepts a job: its hold and its row are committed together, before anything is sent. Returns the pending job.
   * Throws `invalid_body` and what `AdmissionService.admit` throws; neither hold nor row exists then. If the database
   * becomes unreachable meanwhile, the job is cancelled as soon as it responds, unless a worker has begun it.
   */
  async submit(submission: ImageJobRequest, payer: Payer): Promise<JobView> {
    const read = await readJobRequest(submission, submission.body);
    const request = submission.verifyTee ? withVerification(read) : read;
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
    const create = async (tx: Transaction) => {
      const candidates = affordable(plan, await holds.holdIn(tx, placed));
      await insertJob(tx, {
        id,
        kind: IMAGE_JOB,
        account: payer.account,
        keyId: payer.keyId,
        requestId,
        spec: toSpec(
          submission,
          { ...request, verifyTee: plan.request.verifyTee },
          { ...plan.choice, candidates },
        ),
        checkpoint: UNTRIED,
        provider: candidates[0]?.address ?? "",
        body: submission.body,
        deadlineSeconds,
        graceSeconds: GRACE_SECONDS,
      });
      const job = await findJob(tx, { ...payer, kind: IMAGE_JOB }, id);
      if (!job) throw new Error("a job was not found after it was inserted");
      return job;
    };
    const withdraw = () => this.#withdraw(payer.account, id, requestId);
    return holds.commit(placed, () => database.transaction(create), { withdraw });
  }

  /** Cancels a pending job that no client knows of; one that a worker has begun is charged. False if there is no such job. */
  #withdraw(account: string, id: string, requestId: string): Promise<boolean> {
    const { database, holds } = this.#dependencies;
    return database.transaction(async (tx) => {
      if ((await lockOwned(tx, account, id)) === undefined) return false;
      if (await cancelJob(tx, id)) await holds.settleIn(tx, failedSettlement(requestId, "unavailable"));
      return true;
    });
  }
}

function toSpec(
  { operation, contentType }: ImageJobRequest,
  request: ImageRequest,
  { candidates, refused, evidence }: Choice,
): ImageJobSpec {
  return {
    operation,
    model: request.model,
    images: request.count,
    contentType,
    verifyTee: request.verifyTee === true || evidence !== undefined,
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
