import type { HoldsService } from "../../../accounts/holds.service.ts";
import type { AppContext, Lifecycle } from "../../../app-context.ts";
import { confirmationsOf } from "../../../chain/module.ts";
import { WalletSender } from "../../../chain/transactions/wallet-sender.ts";
import { JobRunner } from "../../../jobs/job.runner.ts";
import { JobsService } from "../../../jobs/jobs.service.ts";
import { ResultSweep } from "../../../jobs/result-sweep.runner.ts";
import type { MemoryBudget } from "../../../load/memory-budget.ts";
import type { UploadsService } from "../../../storage/uploads/uploads.service.ts";
import type { AdmissionService } from "../../billing/admission.service.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import type { ProviderClient } from "../../providers/exchange/provider.client.ts";
import type { HealthService } from "../../providers/health/health.service.ts";
import type { RequestObserver } from "../../requests/request-observer.ts";
import type { RequestsService } from "../../requests/requests.service.ts";
import { ImageFilesRunner } from "../image-files.runner.ts";
import { ImageJobClient } from "./image-job.client.ts";
import { imageJobWork } from "./image-job.runner.ts";
import { ImageJobBillingService } from "./image-job-billing.service.ts";
import { ImageJobCancellationService } from "./image-job-cancellation.service.ts";
import { ImageJobResultsService } from "./image-job-results.service.ts";
import { IMAGE_JOB, ImageJobsService } from "./image-jobs.service.ts";

type Dependencies = {
  readonly providers: ProviderClient;
  readonly catalogue: CatalogueService;
  readonly health: HealthService;
  readonly admission: AdmissionService;
  readonly evidence: EvidenceService;
  readonly requests: RequestsService;
  readonly holds: HoldsService;
  /** Stores results as files, if enabled. */
  readonly uploads: UploadsService;
  readonly memory: MemoryBudget;
  readonly bodies: BodyPool;
  readonly observer: RequestObserver | undefined;
};

/** The image-job services, and the runners of worker processes. */
export type ImageJobModule = Lifecycle & {
  readonly services: {
    readonly jobs: JobsService;
    readonly imageJobs: ImageJobsService;
    readonly imageJobResults: ImageJobResultsService;
    readonly imageJobCancellation: ImageJobCancellationService;
  };
};

/** Builds the image-job services. */
export function createImageJobModule(parts: AppContext, dependencies: Dependencies): ImageJobModule {
  const { config, log, clock, database, bus, events, committed } = parts;
  const { providers, catalogue, health, admission, evidence, requests, holds, memory, bodies, observer } =
    dependencies;
  const jobs = new JobsService({ database, events, kind: IMAGE_JOB });
  const work = imageJobWork({
    client: new ImageJobClient({ providers, catalogue, health, memory }),
    bodies,
    billing: new ImageJobBillingService({
      holds,
      catalogue,
      evidence,
      bodies,
      observer,
      retentionSeconds: config.JOB_RESULT_HOURS * 3_600,
    }),
    clock,
  });
  const runner = new JobRunner(
    { database, bus, clock, log, committed },
    { kind: IMAGE_JOB, work, parallel: config.JOBS_PARALLEL },
  );
  const imageJobs = new ImageJobsService({
    database,
    admission,
    holds,
    submitted: () => runner.nudge(),
    deadlineSeconds: Math.ceil(config.JOB_TOTAL_MS / 1_000),
  });
  const resultSweep = new ResultSweep(database, log);
  const files = openFiles(parts, dependencies);
  return {
    services: {
      jobs,
      imageJobs,
      imageJobResults: new ImageJobResultsService({ jobs, requests, catalogue, evidence, bodies }),
      imageJobCancellation: new ImageJobCancellationService({ database, holds, jobs, committed }),
    },
    startWork() {
      runner.start();
      resultSweep.start();
      files?.start();
    },
    async stop() {
      await runner.stop();
      await resultSweep.stop();
      await files?.stop();
    },
  };
}

/** Creates the runner that stores results as files, if it is enabled and a wallet can pay for it. */
function openFiles(parts: AppContext, { uploads }: Dependencies): ImageFilesRunner | undefined {
  const { config, network, rpc, database, log } = parts;
  const privateKey = config.ROUTER_PRIVATE_KEY;
  if (config.STORE_JOB_IMAGES !== "on" || !privateKey) return undefined;
  const { chainId } = network;
  const confirmations = confirmationsOf(parts);
  const sender = new WalletSender({ client: rpc.client, chainId, privateKey, confirmations });
  return new ImageFilesRunner({ queries: database, uploads, sender, log });
}
