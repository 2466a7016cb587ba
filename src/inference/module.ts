import { privateKeyToAccount } from "viem/accounts";
import type { HoldsService } from "../accounts/holds.service.ts";
import type { AppContext, Lifecycle } from "../app-context.ts";
import { CredentialsService } from "../chain/direct/credentials.service.ts";
import { InferenceRegistry } from "../chain/direct/inference-registry.ts";
import { addressOf } from "../chain/networks.ts";
import type { ApiKeyService } from "../keys/api-keys/api-key.service.ts";
import type { LoadServices } from "../load/module.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { UploadsService } from "../storage/uploads/uploads.service.ts";
import { AnswerCacheService } from "./answer-cache/answer-cache.service.ts";
import { createAttestationModule } from "./attestation/attestation.module.ts";
import type { AttestationsService } from "./attestation/attestations.service.ts";
import { AudioService } from "./audio/audio.service.ts";
import { SpeechService } from "./audio/speech.service.ts";
import { type BatchModule, createBatchModule } from "./batches/batch.module.ts";
import { AdmissionService } from "./billing/admission.service.ts";
import { BillingService } from "./billing/billing.service.ts";
import { TokenPriceService } from "./billing/token-price.service.ts";
import { BodyPool } from "./body/body-pool.ts";
import { ChatService, TEXT_COMPLETIONS } from "./chat/chat.service.ts";
import { DispatchService, type DispatchSettings } from "./dispatch/dispatch.service.ts";
import { FailoverService } from "./dispatch/failover.service.ts";
import { EmbeddingsService } from "./embeddings/embeddings.service.ts";
import { EvidenceService } from "./evidence/evidence.service.ts";
import { SignatureClient } from "./evidence/signature.client.ts";
import { StandingsService } from "./evidence/standings.service.ts";
import { ImagesService } from "./images/images.service.ts";
import { createImageJobModule, type ImageJobModule } from "./images/jobs/image-job.module.ts";
import { MessagesService } from "./messages/messages.service.ts";
import { CatalogueService, type ProviderSource } from "./providers/catalogue.service.ts";
import { ProviderClient } from "./providers/exchange/provider.client.ts";
import { HealthService } from "./providers/health/health.service.ts";
import { HealthHistoryService } from "./providers/health/health-history.service.ts";
import { chainProviders } from "./providers/sources/provider-source.chain.ts";
import { FileProviders } from "./providers/sources/provider-source.file.ts";
import { joinedProviders } from "./providers/sources/provider-source.joined.ts";
import { RequestsService } from "./requests/requests.service.ts";
import { RerankService } from "./rerank/rerank.service.ts";
import { KeptResponsesService } from "./responses/native/kept-responses.service.ts";
import { ResponsesService } from "./responses/responses.service.ts";
import { ChoiceService } from "./routing/choice.service.ts";
import { PromptCachesService } from "./routing/prompt-caches.service.ts";
import { RoutingService } from "./routing/routing.service.ts";

/** Everything that sends requests to providers and bills the answers. */
export type InferenceServices = {
  readonly registry: InferenceRegistry;
  readonly catalogue: CatalogueService;
  /** The health of providers, as this process observes it. */
  readonly health: HealthService;
  /** What all processes observed of providers in the last 30 days. */
  readonly healthHistory: HealthHistoryService;
  /** Admits requests. */
  readonly admission: AdmissionService;
  /** Forwards admitted requests to providers. */
  readonly exchanges: DispatchService;
  /** Previews which providers a request would be sent to. */
  readonly routing: RoutingService;
  readonly chat: ChatService;
  readonly responses: ResponsesService;
  /** Text completions. */
  readonly completions: ChatService;
  readonly messages: MessagesService;
  readonly images: ImagesService;
  readonly audio: AudioService;
  readonly speech: SpeechService;
  readonly embeddings: EmbeddingsService;
  readonly rerank: RerankService;
  readonly requests: RequestsService;
  readonly evidence: EvidenceService;
  /** Appraises providers' attestations; undefined if the operator has not enabled it. */
  readonly attestations: AttestationsService | undefined;
  /** The answers that are returned to equal requests. */
  readonly answerCache: AnswerCacheService;
  /** What providers have proved so far. */
  readonly standings: StandingsService;
  readonly tokenPrice: Pick<TokenPriceService, "current" | "known">;
} & ImageJobModule["services"] &
  BatchModule["services"];

/** The inference services and their background work. */
export type InferenceModule = Lifecycle & {
  readonly services: InferenceServices;
  /** Loads the providers and the token's price, and refreshes both periodically. */
  start(): Promise<void>;
};

type Dependencies = {
  readonly holds: HoldsService;
  readonly apiKeys: ApiKeyService;
  readonly uploads: UploadsService;
  readonly load: LoadServices["load"];
  /** The secret of this deployment for the files of batches. */
  readonly filesSecret: string;
  readonly observer: Metrics | undefined;
  /** Reads an environment variable; PROVIDERS_FILE names the variables that hold its API keys. */
  readonly variable: (name: string) => string | undefined;
};

const HOLD_GRACE_SECONDS = 60;
const PROVIDER_TRIES = 3;

/** Seconds after which a request that is still running counts as lost and its hold is released. */
export function requestSeconds(config: AppContext["config"]): number {
  return Math.ceil(config.PROVIDER_TOTAL_MS / 1_000) + HOLD_GRACE_SECONDS;
}

/** Builds the inference services. */
export function createInferenceModule(parts: AppContext, dependencies: Dependencies): InferenceModule {
  const { config, log, clock, database } = parts;
  const { holds, apiKeys, uploads, load, observer } = dependencies;
  const { memory } = load;
  const { registry, providers, source } = openProviders(parts, dependencies);
  const healthHistory = new HealthHistoryService({ queries: database, clock, log });
  const health = new HealthService({
    clock,
    coolDownMs: config.PROVIDER_COOL_DOWN_MS,
    observer: healthHistory,
  });
  const tokenPrice = new TokenPriceService({ setting: config.TOKEN_USD, clock, log });
  const catalogue = new CatalogueService({ source, log, refreshMs: config.CATALOGUE_REFRESH_MS });
  const attestation = createAttestationModule(parts, { providers, catalogue });
  const standings = new StandingsService({
    queries: database,
    log,
    providers: () => catalogue.providers(),
    isAttested: (provider) => attestation?.attestations.of(provider)?.isPassed ?? false,
  });
  const evidence = new EvidenceService({
    queries: database,
    signatures: new SignatureClient({ providers, clock, timeoutMs: config.TEE_CHECK_MS }),
    log,
    observe: (provider, result) => {
      observer?.evidence(result.verdict);
      standings.note(provider.address, result);
    },
  });
  const promptCaches = new PromptCachesService(clock);
  const cache = new AnswerCacheService({
    database,
    log,
    maxBytesPerAccount: config.CACHE_MIB_PER_ACCOUNT * 1_048_576,
    hitPricePercent: config.CACHE_HIT_PRICE_PERCENT,
  });
  const dispatchParts = {
    failover: new FailoverService({
      health,
      clock,
      log,
      tries: PROVIDER_TRIES,
      totalMs: config.PROVIDER_TOTAL_MS,
    }),
    providers,
    memory,
    settings: dispatchSettings(config),
  };
  const exchanges = new DispatchService({
    ...{ ...dispatchParts, cache },
    billing: new BillingService({
      ...{ holds, evidence, promptCaches, observer },
      hitCost: (cost) => cache.hitCost(cost),
    }),
  });
  const choices = new ChoiceService({
    catalogue,
    health,
    restrictionsOf: (keyId) => apiKeys.restrictionsOf(keyId),
    tokenUsd: () => tokenPrice.current(),
    standings,
    promptCaches,
  });
  const bodies = new BodyPool({ log });
  const admissionParts = {
    ...{ choices, clock },
    tokenUsd: () => tokenPrice.known(),
    holdSeconds: requestSeconds(config),
    counts: bodies,
  };
  const admission = new AdmissionService({ ...admissionParts, holds });
  const requests = new RequestsService(database);
  const kept = new KeptResponsesService(requests);
  const jobModule = createImageJobModule(parts, {
    providers,
    catalogue,
    health,
    admission,
    evidence,
    requests,
    holds,
    uploads,
    memory,
    bodies,
    observer,
  });
  const batchModule = createBatchModule(parts, {
    ...{ holds, evidence, catalogue, bodies, observer, load, kept },
    admission: admissionParts,
    dispatch: dispatchParts,
    liveRequests: () => exchanges.running,
    filesSecret: dependencies.filesSecret,
  });
  const maxCompletionTokens = config.MAX_COMPLETION_TOKENS;
  const chatParts = { admission, exchanges, bodies, maxCompletionTokens };
  const chat = new ChatService(chatParts);
  return {
    services: {
      ...{ registry, catalogue, health, healthHistory, admission, exchanges, requests, evidence, standings },
      answerCache: cache,
      attestations: attestation?.attestations,
      routing: new RoutingService({ choices, catalogue, maxCompletionTokens }),
      chat,
      completions: new ChatService({ ...chatParts, endpoint: TEXT_COMPLETIONS }),
      responses: new ResponsesService({ chat, bodies, clock, kept }),
      messages: new MessagesService({ choices, admission, exchanges, bodies, providers }),
      images: new ImagesService({ admission, exchanges, bodies }),
      audio: new AudioService({ admission, exchanges, bodies }),
      speech: new SpeechService({ admission, exchanges, bodies }),
      embeddings: new EmbeddingsService({ admission, exchanges, bodies }),
      rerank: new RerankService({ admission, exchanges, bodies }),
      tokenPrice,
      ...jobModule.services,
      ...batchModule.services,
    },
    async start() {
      await Promise.all([catalogue.start(), tokenPrice.start()]);
      await standings.start();
      healthHistory.start();
      attestation?.attestations.start();
    },
    startWork() {
      cache.start();
      jobModule.startWork?.();
      batchModule.startWork?.();
    },
    async stop() {
      await Promise.all([exchanges.drain(), jobModule.stop(), batchModule.stop()]);
      await Promise.all([cache.stop(), healthHistory.stop()]);
      catalogue.stop();
      tokenPrice.stop();
      await Promise.all([standings.stop(), attestation?.stop()]);
      await Promise.all([providers.close(), bodies.close()]);
    },
  };
}

function dispatchSettings(config: AppContext["config"]): DispatchSettings {
  return {
    firstByteMs: config.PROVIDER_FIRST_BYTE_MS,
    silenceMs: config.PROVIDER_SILENCE_MS,
    firstTokenMs: config.PROVIDER_FIRST_TOKEN_MS,
    stallMs: config.CLIENT_STALL_MS,
    resumesStreams: config.RESUME_STREAMS === "on",
  };
}

/** Opens the provider sources (the chain and the operator's file) and the client that connects to them. */
function openProviders(
  { config, network, log, clock, rpc }: AppContext,
  { variable }: Pick<Dependencies, "variable">,
): {
  readonly registry: InferenceRegistry;
  readonly providers: ProviderClient;
  readonly source: ProviderSource;
} {
  const address = addressOf(network, "computeInference");
  const registry = new InferenceRegistry(rpc.client, address);
  const wallet = privateKeyToAccount(config.ROUTER_PRIVATE_KEY ?? `0x${"0".repeat(63)}1`);
  const credentials = new CredentialsService({ client: rpc.client, registry: address, wallet, clock });
  const file = config.PROVIDERS_FILE
    ? new FileProviders({ path: config.PROVIDERS_FILE, variable })
    : undefined;
  const allowsPrivate = network.id === "devnet";
  const onChain = chainProviders(registry, { allowsPrivate });
  const providers = new ProviderClient({
    credentials: {
      // Servers of the file never receive the credentials that the wallet signs for providers on the chain.
      secretFor: async ({ source, address }) =>
        source === "file" && file ? file.keyOf(address) : credentials.secretFor(address),
      forget: (provider) => credentials.forget(provider),
    },
    deadlines: {
      connectMs: config.PROVIDER_CONNECT_MS,
      firstByteMs: config.PROVIDER_FIRST_BYTE_MS,
      silenceMs: config.PROVIDER_SILENCE_MS,
      totalMs: config.PROVIDER_TOTAL_MS,
    },
    connections: config.PROVIDER_CONNECTIONS,
    allowsPrivate,
  });
  return { registry, providers, source: file ? joinedProviders([onChain, file], log) : onChain };
}
