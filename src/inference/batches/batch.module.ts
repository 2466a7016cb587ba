import type { HoldsService } from "../../accounts/holds.service.ts";
import type { AppContext, Lifecycle } from "../../app-context.ts";
import { ClientFilesService } from "../../client-files/client-files.service.ts";
import { FileCipher } from "../../client-files/file-cipher.ts";
import { FileSweep } from "../../client-files/file-sweep.runner.ts";
import { JobRunner } from "../../jobs/job.runner.ts";
import { JobsService } from "../../jobs/jobs.service.ts";
import type { LoadServices } from "../../load/module.ts";
import { AdmissionService } from "../billing/admission.service.ts";
import type { BodyPool } from "../body/body-pool.ts";
import { ChatService, TEXT_COMPLETIONS } from "../chat/chat.service.ts";
import { DispatchService } from "../dispatch/dispatch.service.ts";
import { EmbeddingsService } from "../embeddings/embeddings.service.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { RequestObserver } from "../requests/request-observer.ts";
import type { KeptResponsesService } from "../responses/native/kept-responses.service.ts";
import { ResponsesService } from "../responses/responses.service.ts";
import { batchWork } from "./batch.runner.ts";
import { IS_READ } from "./batch.store.ts";
import { BATCH_JOB } from "./batch.ts";
import { INPUT_LIMITS } from "./batch-input.ts";
import { BatchesService } from "./batches.service.ts";
import { LineBillingService } from "./line-billing.service.ts";
import { LineLedger } from "./line-ledger.ts";
import { LineRequestsService } from "./line-requests.service.ts";
import { LineSlots } from "./line-slots.ts";
import { LineSweep } from "./line-sweep.runner.ts";

type AdmissionParts = Omit<ConstructorParameters<typeof AdmissionService>[0], "holds">;
type DispatchParts = Omit<ConstructorParameters<typeof DispatchService>[0], "billing">;

type Dependencies = {
  readonly holds: HoldsService;
  /** What live requests are admitted by, except for their holds. */
  readonly admission: AdmissionParts;
  /** What live requests are sent by, except for their billing. */
  readonly dispatch: DispatchParts;
  readonly evidence: EvidenceService;
  readonly catalogue: CatalogueService;
  readonly bodies: BodyPool;
  readonly kept: KeptResponsesService;
  readonly observer: RequestObserver | undefined;
  readonly load: LoadServices["load"];
  /** The number of live requests. */
  readonly liveRequests: () => number;
  /** The secret of this deployment for the keys of files. */
  readonly filesSecret: string;
};

/** Batches and the files of clients, and the runners of worker processes. */
export type BatchModule = Lifecycle & {
  readonly services: { readonly batches: BatchesService; readonly clientFiles: ClientFilesService };
};

/** Batches that a worker runs at once; their lines share its slots. */
const BATCHES_AT_ONCE = 64;
const MIB = 1_048_576;
const DAY_SECONDS = 86_400;

/** Builds the services of batches. */
export function createBatchModule(parts: AppContext, dependencies: Dependencies): BatchModule {
  const { config, log, clock, database, bus, events, committed } = parts;
  const { holds, evidence, catalogue, bodies, observer, load, liveRequests } = dependencies;
  const files = new ClientFilesService({
    database,
    cipher: new FileCipher(dependencies.filesSecret, config.BATCH_FILES_SECRET),
    settings: {
      maxBytes: config.BATCH_FILE_MIB * MIB,
      quotaBytes: config.BATCH_FILES_MIB * MIB,
      retentionSeconds: config.BATCH_FILE_DAYS * DAY_SECONDS,
    },
  });
  const ledger = new LineLedger({ database, holds, committed });
  const admission = new AdmissionService({ ...dependencies.admission, holds: ledger });
  const exchanges = new DispatchService({
    ...dependencies.dispatch,
    billing: new LineBillingService({ lines: ledger, evidence, observer }),
  });
  const chatParts = { admission, exchanges, bodies, maxCompletionTokens: config.MAX_COMPLETION_TOKENS };
  const chat = new ChatService(chatParts);
  const requests = new LineRequestsService({
    chat,
    completions: new ChatService({ ...chatParts, endpoint: TEXT_COMPLETIONS }),
    responses: new ResponsesService({ chat, bodies, clock, kept: dependencies.kept }),
    embeddings: new EmbeddingsService({ admission, exchanges, bodies }),
  });
  const slots = new LineSlots({
    parallel: config.BATCH_LINES_PARALLEL,
    live: liveRequests,
    isOverloaded: () => load.monitor.overload !== undefined,
  });
  const work = batchWork({
    ...{ database, files, ledger, requests, catalogue, slots, clock, log },
    limits: INPUT_LIMITS,
  });
  const runner = new JobRunner(
    { database, bus, clock, log, committed },
    { kind: BATCH_JOB, work, parallel: BATCHES_AT_ONCE },
  );
  const fileSweep = new FileSweep(database, log, IS_READ);
  const lineSweep = new LineSweep(database, log);
  return {
    services: {
      batches: new BatchesService({
        ...{ database, files, committed },
        jobs: new JobsService({ database, events, kind: BATCH_JOB }),
        submitted: () => runner.nudge(),
      }),
      clientFiles: files,
    },
    startWork() {
      runner.start();
      fileSweep.start();
      lineSweep.start();
    },
    async stop() {
      await runner.stop();
      await Promise.all([fileSweep.stop(), lineSweep.stop(), exchanges.drain()]);
    },
  };
}
