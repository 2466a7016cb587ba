import type { JobsService, JobView } from "../../../jobs/jobs.service.ts";
import type { Reach } from "../../../keys/auth/permissions.ts";
import { toTeeTrace } from "../../billing/billing.service.ts";
import type { Trace } from "../../billing/trace.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import { type EvidenceResult, nothing } from "../../evidence/tee-signature.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import type { RequestsService } from "../../requests/requests.service.ts";
import type { AnsweredImage } from "../image-answer.ts";
import { type ImageJobCheckpoint, type ImageJobSpec, jobHashes } from "./image-job-plan.ts";

type Dependencies = {
  readonly jobs: JobsService;
  readonly requests: RequestsService;
  readonly catalogue: Pick<CatalogueService, "provider">;
  readonly evidence: Pick<EvidenceService, "check" | "byRequests">;
  readonly bodies: Pick<BodyPool, "readImages" | "hashImages">;
};

/** A job with its outcome: `result` as JSON text while it is stored, `trace` once it is billed. */
export type ImageJobOutcome = {
  readonly job: JobView;
  readonly result: string | undefined;
  readonly trace: Trace | undefined;
};

/** Returns the outcome of image jobs: their state, images, bill and evidence. */
export class ImageJobResultsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
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
    return { job, result, trace: verified === undefined ? trace : { ...trace, ...toTeeTrace(verified) } };
  }

  /**
   * The bills of completed jobs of one account, with the evidence that was found so far; undefined for a job that is not
   * billed.
   */
  async traces(jobs: readonly JobView[]): Promise<readonly (Trace | undefined)[]> {
    const [first] = jobs;
    if (!first) return [];
    const ids = jobs.map(({ requestId }) => requestId);
    const [requests, evidence] = await Promise.all([
      this.#dependencies.requests.byIds(first.account, ids),
      this.#dependencies.evidence.byRequests(first.account, ids),
    ]);
    return jobs.map((job, n) => {
      const [request, verified] = [requests[n], evidence[n]];
      if (!request?.cost) return undefined;
      const trace = toTrace(job, request.provider, request.cost);
      return verified === undefined ? trace : { ...trace, ...toTeeTrace(verified) };
    });
  }

  /** The images of a job from `JobsService`; undefined if they are no longer stored. Throws `unavailable`. */
  async images(job: JobView): Promise<readonly AnsweredImage[] | undefined> {
    const { jobs, bodies } = this.#dependencies;
    const result = await jobs.result(job);
    return result === undefined ? undefined : (await bodies.readImages(result)).images;
  }

  /** The evidence of a result; undefined if verification was not requested. */
  async #verdict(job: JobView, isRequested: boolean): Promise<EvidenceResult | undefined> {
    const { evidence, catalogue, jobs, bodies } = this.#dependencies;
    const { requestId, account } = job;
    if (!isRequested && !(job.spec as ImageJobSpec).verifyTee) return undefined;
    const [known] = await evidence.byRequests(account, [requestId]);
    if (known) return known;
    const provider = catalogue.provider(job.step.provider ?? "");
    if (!provider) return nothing("unreachable");
    const checkpoint = job.checkpoint as ImageJobCheckpoint;
    const hashes = jobHashes(checkpoint, async () => {
      const result = await jobs.result(job);
      return result === undefined ? [] : bodies.hashImages(result);
    });
    return evidence.check({
      account,
      requestId,
      provider,
      answerId: checkpoint.answerId ?? undefined,
      hashes,
    });
  }
}

function toTrace(
  { requestId }: JobView,
  provider: string,
  { input, output, total }: { readonly input: bigint; readonly output: bigint; readonly total: bigint },
): Trace {
  const billing = { input_cost: `${input}`, output_cost: `${output}`, total_cost: `${total}` };
  return { request_id: requestId, provider, billing };
}
