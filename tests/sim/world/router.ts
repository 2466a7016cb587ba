import { DepositsService } from "../../../src/accounts/deposits.service.ts";
import { HoldsService } from "../../../src/accounts/holds.service.ts";
import { DEFAULT_VAULT_EVENT } from "../../../src/accounts/vault-event.ts";
import type { Rpc } from "../../../src/chain/rpc/rpc.client.ts";
import { LogScanner } from "../../../src/chain/watcher/log-scanner.ts";
import { readCursor } from "../../../src/chain/watcher/log-watcher.store.ts";
import { PollTimer } from "../../../src/chain/watcher/poll-timer.ts";
import type { Database } from "../../../src/db/database.ts";
import type { Bus } from "../../../src/events/bus.ts";
import { EventsService } from "../../../src/events/events.service.ts";
import { EventRelay } from "../../../src/events/relay.ts";
import { AdmissionService } from "../../../src/inference/billing/admission.service.ts";
import type { Admitted } from "../../../src/inference/billing/admitted.ts";
import { BillingService } from "../../../src/inference/billing/billing.service.ts";
import { type Bodies, BodyPool } from "../../../src/inference/body/body-pool.ts";
import { ChatService } from "../../../src/inference/chat/chat.service.ts";
import { DispatchService } from "../../../src/inference/dispatch/dispatch.service.ts";
import { FailoverService } from "../../../src/inference/dispatch/failover.service.ts";
import { nothing } from "../../../src/inference/evidence/tee-signature.ts";
import { ImageJobClient } from "../../../src/inference/images/jobs/image-job.client.ts";
import { imageJobWork } from "../../../src/inference/images/jobs/image-job.runner.ts";
import { ImageJobBillingService } from "../../../src/inference/images/jobs/image-job-billing.service.ts";
import { ImageJobCancellationService } from "../../../src/inference/images/jobs/image-job-cancellation.service.ts";
import { IMAGE_JOB, ImageJobsService } from "../../../src/inference/images/jobs/image-jobs.service.ts";
import { CatalogueService } from "../../../src/inference/providers/catalogue.service.ts";
import type { ProviderClient } from "../../../src/inference/providers/exchange/provider.client.ts";
import { HealthService } from "../../../src/inference/providers/health/health.service.ts";
import { ChoiceService } from "../../../src/inference/routing/choice.service.ts";
import { PromptCachesService } from "../../../src/inference/routing/prompt-caches.service.ts";
import { JobRunner } from "../../../src/jobs/job.runner.ts";
import { JobsService } from "../../../src/jobs/jobs.service.ts";
import type { WaitingClock } from "../../../src/kernel/clock.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { UNRESTRICTED } from "../../../src/keys/api-keys/key-settings.ts";
import { MemoryBudget, memoryLimits } from "../../../src/load/memory-budget.ts";
import { receiptKeyOf } from "../../../src/receipts/receipt-key.ts";
import { ReceiptSequencer } from "../../../src/receipts/sequencer.runner.ts";
import { TEST_CURSORS } from "../../support/cursors.ts";
import type { Plant } from "../plants.ts";
import { CHAIN_ID } from "./chain.ts";
import { ANSWER_LIMIT, TRIES } from "./chat.ts";
import type { SimProcess } from "./gate.ts";
import { OFFERS } from "./offers.ts";

export const VAULT: Hex = "0x00000000000000000000000000000000000da017";
export const CONFIRMATIONS = 4;
export const HOLD_SECONDS = 660;
export const TOTAL_MS = 600_000;
/** Longer than the simulation usually waits, so that leases do not expire all the time. */
export const TIMING = { leaseSeconds: 300, renewMs: 60_000, pollMs: 1_000, restSeconds: 5 };
const JOB_SECONDS = 40_000;
const RESULT_SECONDS = 10_000_000;

const log = createLogger("silent");
/** Nothing in a simulation is long enough for a thread. */
const inline = new BodyPool({
  log,
  threads: { run: () => Promise.reject(new Error("a simulation has no threads")), close: async () => {} },
});
/** A simulated request states the tokens of its prompt. */
const bodies: Bodies = {
  countTexts: (texts) => inline.countTexts(texts),
  countOtherInputs: (body) => inline.countOtherInputs(body),
  countRequest: async (body) => JSON.parse(body.toString()).prompt_tokens,
  countAnswer: (body, format) => inline.countAnswer(body, format),
  parseAnswer: (body) => inline.parseAnswer(body),
  findEdits: (body, changes) => inline.findEdits(body, changes),
};
const committed = () => {};

/** One life of a router process. `busy` is its current sequential task. */
export type Router = {
  readonly process: SimProcess;
  readonly holds: HoldsService;
  /** Its name in the database. */
  readonly processId: string;
  readonly chat: ChatService;
  readonly scanner: LogScanner;
  readonly relay: EventRelay;
  readonly sequencer: ReceiptSequencer;
  readonly imageJobs: ImageJobsService;
  readonly cancellation: ImageJobCancellationService;
  readonly jobRunner: JobRunner;
  readonly busy: Set<string>;
};

/** Wires a router's own services as `createApp` does, over simulated parts and with the planted bug. */
export function bootRouter(given: {
  readonly process: SimProcess;
  readonly database: Database;
  readonly clock: WaitingClock;
  readonly rpc: Rpc;
  readonly client: ProviderClient;
  readonly bus: Bus;
  readonly plant: Plant;
  /** Connects the model to the holds. */
  readonly watch: (holds: HoldsService) => HoldsService;
  /** Sees every admitted request. */
  readonly admitted: (admitted: Admitted) => void;
}): Router {
  const { process, database, clock, rpc, client, bus, plant } = given;
  const own = new HoldsService({ database, clock, log, committed, isTimed: false });
  const holds = given.watch(plant.holds?.(own, database) ?? own);
  const catalogue = new CatalogueService({ source: { load: async () => OFFERS }, log, refreshMs: 1 });
  void catalogue.refresh();
  const health = new HealthService({ clock, coolDownMs: 1 });
  const evidence = { check: async () => nothing("missing"), byRequests: async () => [] };
  const promptCaches = new PromptCachesService(clock);
  const choices = new ChoiceService({
    catalogue,
    health,
    restrictionsOf: async () => UNRESTRICTED,
    tokenUsd: () => undefined,
    standings: { of: () => ({ isBound: false, isAttested: false }) },
    promptCaches,
  });
  const admission = new AdmissionService({
    choices,
    holds,
    clock,
    tokenUsd: () => undefined,
    holdSeconds: HOLD_SECONDS,
    counts: inline,
  });
  const admit = admission.admit.bind(admission);
  admission.admit = async (ask, caller) => {
    const admitted = await admit(ask, caller);
    given.admitted(admitted);
    return admitted;
  };
  const providers = plant.providers?.(client) ?? client;
  const memory = new MemoryBudget(memoryLimits(2 ** 30));
  const exchanges = new DispatchService({
    failover: new (plant.failover ?? FailoverService)({
      ...{ health, clock, log, tries: plant.tries ?? TRIES, totalMs: TOTAL_MS },
    }),
    providers,
    billing: new BillingService({ holds, evidence, promptCaches }),
    memory,
    settings: {
      firstByteMs: TOTAL_MS,
      silenceMs: TOTAL_MS,
      firstTokenMs: TOTAL_MS,
      stallMs: 60_000,
      resumesStreams: resumesStreams(process),
    },
  });
  const jobs = new JobsService({
    database,
    events: new EventsService(database, bus, TEST_CURSORS),
    kind: IMAGE_JOB,
  });
  const work = imageJobWork({
    client: new ImageJobClient({ providers, catalogue, health, memory }),
    bodies: inline,
    billing: new ImageJobBillingService({
      ...{ holds, catalogue, evidence, bodies: inline, retentionSeconds: RESULT_SECONDS },
    }),
    clock,
  });
  const scan = { name: "deposits", rpc, database, startBlock: 0n, confirmations: CONFIRMATIONS };
  return {
    process,
    holds,
    processId: own.processId,
    chat: new ChatService({ admission, exchanges, bodies, maxCompletionTokens: ANSWER_LIMIT }),
    imageJobs: new ImageJobsService({
      ...{ database, admission, holds, submitted: () => {}, deadlineSeconds: JOB_SECONDS },
    }),
    cancellation: new ImageJobCancellationService({ database, holds, jobs, committed }),
    jobRunner: new JobRunner(
      { database, bus, clock, log, committed },
      { kind: IMAGE_JOB, work, parallel: 4 },
      TIMING,
    ),
    scanner: new LogScanner({ ...scan, handlers: [depositsOn(database)] }, new PollTimer()),
    relay: new EventRelay(database, bus, log),
    sequencer: new ReceiptSequencer({ database, clock, log, key: RECEIPT_KEY, checkpointSeconds: 1 }),
    busy: new Set(),
  };
}

const RECEIPT_KEY = receiptKeyOf(Buffer.alloc(32, 1));

/** One of the two routers resumes broken streams, in all its lives. */
export function resumesStreams({ id }: SimProcess): boolean {
  return id % 2 === 1;
}

/** The deposits of the simulated vault. */
export function depositsOn(database: Database): DepositsService {
  return new DepositsService({
    database,
    chainId: CHAIN_ID,
    vault: { address: VAULT, ...DEFAULT_VAULT_EVENT },
    confirmations: CONFIRMATIONS,
    scannedBlock: async () => (await readCursor(database, "deposits"))?.number,
  });
}
