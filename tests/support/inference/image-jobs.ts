import { HoldsService } from "../../../src/accounts/holds.service.ts";
import type { Database } from "../../../src/db/database.ts";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { EventsService } from "../../../src/events/events.service.ts";
import { AdmissionService } from "../../../src/inference/billing/admission.service.ts";
import { BodyPool } from "../../../src/inference/body/body-pool.ts";
import { EvidenceService } from "../../../src/inference/evidence/evidence.service.ts";
import { SignatureClient } from "../../../src/inference/evidence/signature.client.ts";
import { ImageJobClient } from "../../../src/inference/images/jobs/image-job.client.ts";
import { imageJobWork } from "../../../src/inference/images/jobs/image-job.runner.ts";
import { ImageJobBillingService } from "../../../src/inference/images/jobs/image-job-billing.service.ts";
import { ImageJobCancellationService } from "../../../src/inference/images/jobs/image-job-cancellation.service.ts";
import { ImageJobResultsService } from "../../../src/inference/images/jobs/image-job-results.service.ts";
import {
  IMAGE_JOB,
  type ImageJobRequest,
  ImageJobsService,
} from "../../../src/inference/images/jobs/image-jobs.service.ts";
import { CatalogueService } from "../../../src/inference/providers/catalogue.service.ts";
import { ProviderClient } from "../../../src/inference/providers/exchange/provider.client.ts";
import { HealthService } from "../../../src/inference/providers/health/health.service.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { EndedRequest } from "../../../src/inference/requests/request-observer.ts";
import { RequestsService } from "../../../src/inference/requests/requests.service.ts";
import { ChoiceService } from "../../../src/inference/routing/choice.service.ts";
import { PromptCachesService } from "../../../src/inference/routing/prompt-caches.service.ts";
import { JobRunner, type JobTiming } from "../../../src/jobs/job.runner.ts";
import { JobsService } from "../../../src/jobs/jobs.service.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { ApiKeyService } from "../../../src/keys/api-keys/api-key.service.ts";
import { MemoryBudget, memoryLimits } from "../../../src/load/memory-budget.ts";
import type { JobBroker } from "../chain/job-broker.ts";
import { TEST_CURSORS } from "../cursors.ts";
import { startRelay } from "../events.ts";
import { type Seeded, seedAccount } from "../seed.ts";
import { type DatabaseKind, type OnEnd, openTestDatabase } from "../servers/database.ts";

const IMAGE_MODEL = "test-images";
/** Neuron for an image at each broker: the first is the cheapest, and so tried first. */
export const IMAGE_PRICES = [100n, 130n, 170n] as const;

/** The services of image jobs over brokers, on a separate database. */
export type JobWorld = {
  readonly database: Database;
  readonly jobs: JobsService;
  readonly imageJobs: ImageJobsService;
  readonly results: ImageJobResultsService;
  readonly cancellation: ImageJobCancellationService;
  readonly addresses: readonly Hex[];
  seed(neuron?: bigint): Promise<Seeded>;
  submit(seeded: Seeded, more?: Partial<ImageJobRequest> & { readonly images?: number }): Promise<string>;
  /** What the workers reported of requests that ended. */
  readonly observed: readonly EndedRequest[];
  /** A running worker, as in a process of its own; stopped when the test is finished. */
  startWorker(timing?: Partial<JobTiming>, parallel?: number, bodyBytes?: number): JobRunner;
};

/**
 * Opens such a world. It has no worker yet; unless it is one process, it is notified of jobs by the bus
 * alone. The first `busyReads` reports of providers find no free thread; `clock` is that of the polls.
 */
export async function openJobWorld(
  kind: DatabaseKind,
  onEnd: OnEnd,
  brokers: readonly JobBroker[],
  { deadlineSeconds = 600, isOneProcess = true, busyReads = 0, clock: workClock = systemClock } = {},
): Promise<JobWorld> {
  const database = await openTestDatabase(kind, { onEnd });
  const log = createLogger("silent");
  const clock = systemClock;
  const bus = new MemoryBus();
  const relay = startRelay(database, bus);
  const committed = () => relay.nudge();
  const offers = brokers.map(toProvider);
  const catalogue = new CatalogueService({ source: { load: async () => offers }, log, refreshMs: 3_600_000 });
  await catalogue.refresh();
  const health = new HealthService({ clock, coolDownMs: 1_000 });
  const providers = new ProviderClient({
    credentials: { secretFor: async () => "app-sk-test", forget() {} },
    // No test is about slow brokers, and on a busy machine none is given up.
    deadlines: { connectMs: 60_000, firstByteMs: 300_000, silenceMs: 300_000, totalMs: 300_000 },
    connections: 16,
    allowsPrivate: true,
  });
  onEnd(() => providers.close());
  const signatures = new SignatureClient({ providers, clock, timeoutMs: 60_000 });
  const evidence = new EvidenceService({ queries: database, signatures, log });
  const holds = new HoldsService({ database, log, committed });
  const apiKeys = new ApiKeyService({ database, clock, committed });
  const promptCaches = new PromptCachesService(clock);
  const choices = new ChoiceService({
    catalogue,
    health,
    restrictionsOf: (keyId) => apiKeys.restrictionsOf(keyId),
    tokenUsd: () => undefined,
    standings: { of: () => ({ isBound: false, isAttested: false }) },
    promptCaches,
  });
  const bodies = new BodyPool({ log });
  onEnd(() => bodies.close());
  const admission = new AdmissionService({
    choices,
    holds,
    clock,
    tokenUsd: () => undefined,
    holdSeconds: 60,
    counts: bodies,
  });
  const jobs = new JobsService({
    database,
    events: new EventsService(database, bus, TEST_CURSORS),
    kind: IMAGE_JOB,
  });
  const readReport = bodies.readReport.bind(bodies);
  bodies.readReport = async (answer) => {
    if (busyReads-- > 0) throw new AppError("unavailable", "Too many long answers are being read.");
    return readReport(answer);
  };
  const workers: JobRunner[] = [];
  onEnd(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
  const imageJobs = new ImageJobsService({
    database,
    admission,
    holds,
    submitted: () => isOneProcess && workers.map((worker) => worker.nudge()),
    deadlineSeconds,
  });
  const requests = new RequestsService(database);
  const observed: EndedRequest[] = [];
  const billing = new ImageJobBillingService({
    ...{ holds, catalogue, evidence, bodies, retentionSeconds: 3_600 },
    observer: { ended: (request) => void observed.push(request) },
  });
  const memory = new MemoryBudget(memoryLimits(2 ** 30));
  const client = new ImageJobClient({ providers, catalogue, health, memory });
  return {
    database,
    jobs,
    imageJobs,
    results: new ImageJobResultsService({ jobs, requests, catalogue, evidence, bodies }),
    cancellation: new ImageJobCancellationService({ database, holds, jobs, committed }),
    observed,
    addresses: offers.map(({ address }) => address),
    seed: (neuron = 10_000n) => seedAccount(database, neuron),
    async submit({ account, keyId }, { images = 1, ...more } = {}) {
      const ask: ImageJobRequest = {
        operation: "generations",
        body: Buffer.from(JSON.stringify({ model: IMAGE_MODEL, prompt: "the sea", n: images })),
        contentType: "application/json",
        preferences: {},
        ...more,
      };
      return (await imageJobs.submit(ask, { account, keyId })).id;
    },
    startWorker(timing = {}, parallel = 16, bodyBytes = 64 * 1_048_576) {
      const work = imageJobWork({ client, bodies, billing, clock: workClock });
      const queue = { kind: IMAGE_JOB, parallel, bodyBytes, work };
      const worker = new JobRunner({ database, bus, clock, log, committed }, queue, {
        pollMs: 50,
        ...timing,
      });
      workers.push(worker);
      worker.start();
      return worker;
    },
  };
}

function toProvider({ url }: JobBroker, n: number): Provider {
  const address = `0x${String(n + 1).repeat(40)}` as Hex;
  return {
    address,
    serviceType: "text-to-image",
    url,
    model: IMAGE_MODEL,
    verifiability: "TeeML",
    inputPrice: 0n,
    outputPrice: IMAGE_PRICES[n] ?? 1_000n,
    teeSigner: address,
    teeAcknowledged: true,
    isCentralized: false,
    updatedAt: new Date(0),
    source: "chain",
    profile: { formats: ["openai"] },
  };
}
