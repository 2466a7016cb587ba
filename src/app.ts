import type { BlockList } from "node:net";
import { privateKeyToAccount } from "viem/accounts";
import { BalanceService } from "./accounts/balance.service.ts";
import { DepositsService } from "./accounts/deposits.service.ts";
import { FundsService } from "./accounts/funds.service.ts";
import { HoldsService } from "./accounts/holds.service.ts";
import { UsageService } from "./accounts/usage.service.ts";
import { CredentialsService } from "./chain/direct/credentials.service.ts";
import { InferenceRegistry } from "./chain/direct/inference-registry.ts";
import { addressOf, type Network } from "./chain/networks.ts";
import { type ChainServices, openChainRoom } from "./chain/room.ts";
import { createRpc, type Rpc } from "./chain/rpc.client.ts";
import { VaultClient } from "./chain/vault.client.ts";
import { WalletSender } from "./chain/wallet-sender.ts";
import { verifyWalletSignature } from "./chain/wallet-signature.ts";
import { type Config, readVariable } from "./config.ts";
import type { Database } from "./db/database.ts";
import { openDatabase } from "./db/open.ts";
import { MemoryBus } from "./events/bus.memory.ts";
import { RedisBus } from "./events/bus.redis.ts";
import type { Bus } from "./events/bus.ts";
import { EventsService } from "./events/events.service.ts";
import { dropRedis, openRedis, type RedisConnection } from "./events/redis-connection.ts";
import { EventRelay } from "./events/relay.ts";
import { IdempotencyService } from "./idempotency/idempotency.service.ts";
import { AdmissionService } from "./inference/admission.service.ts";
import { AudioService } from "./inference/audio.service.ts";
import { CatalogueService } from "./inference/catalogue.service.ts";
import { ChatService } from "./inference/chat.service.ts";
import { EvidenceService } from "./inference/evidence.service.ts";
import { ExchangeService } from "./inference/exchange.service.ts";
import { HealthService } from "./inference/health.service.ts";
import { ImageFilesRunner } from "./inference/image-files.runner.ts";
import { ImageJobClient } from "./inference/image-job.client.ts";
import { imageJobWork } from "./inference/image-job.runner.ts";
import { IMAGE_JOB, ImageJobsService } from "./inference/image-jobs.service.ts";
import { ImagesService } from "./inference/images.service.ts";
import { MessagesService } from "./inference/messages.service.ts";
import { ProviderClient } from "./inference/provider.client.ts";
import { chainProviders } from "./inference/provider-source.chain.ts";
import { FileProviders } from "./inference/provider-source.file.ts";
import { joinedProviders } from "./inference/provider-source.joined.ts";
import { RequestsService } from "./inference/requests.service.ts";
import { RoutingService } from "./inference/routing.service.ts";
import type { Usd } from "./inference/routing.ts";
import { TokenPriceService } from "./inference/token-price.service.ts";
import { JobRunner } from "./jobs/job.runner.ts";
import { JobsService } from "./jobs/jobs.service.ts";
import { ResultSweep } from "./jobs/result-sweep.runner.ts";
import { systemClock } from "./kernel/clock.ts";
import { StartupError } from "./kernel/errors.ts";
import type { Logger } from "./kernel/log.ts";
import { ApiKeyService } from "./keys/api-key.service.ts";
import { AuthenticateService } from "./keys/authenticate.service.ts";
import { CredentialWatch } from "./keys/credential-watch.service.ts";
import { DoorService, type RateLimits } from "./keys/door.service.ts";
import { KeyUseService } from "./keys/key-use.service.ts";
import { ManagementKeyService } from "./keys/management-key.service.ts";
import type { Principal } from "./keys/principal.ts";
import { MemoryRateLimit } from "./keys/rate-limit.memory.ts";
import { RedisRateLimit } from "./keys/rate-limit.redis.ts";
import type { RateLimit } from "./keys/rate-limit.ts";
import { SessionService } from "./keys/session.service.ts";
import { SessionSweep } from "./keys/session-sweep.runner.ts";
import { signInPlaces } from "./keys/sign-in-places.ts";
import { trustedProxies } from "./keys/source-address.ts";
import { Metrics } from "./metrics/metrics.ts";
import { type Readiness, readinessOf } from "./metrics/readiness.ts";
import type { Parts } from "./parts.ts";
import { openStorageRoom, type StorageServices } from "./storage/room.ts";

/** Every service of the product, as both faces use them. */
export type App = ChainServices &
  StorageServices & {
    readonly config: Config;
    readonly network: Network;
    readonly log: Logger;
    readonly database: Database;
    readonly events: EventsService;
    readonly apiKeys: ApiKeyService;
    readonly managementKeys: ManagementKeyService;
    readonly sessions: SessionService;
    /** Notes which key was used, when and from where. */
    readonly keyUse: KeyUseService;
    /** The proxies whose word on a request's source is taken. */
    readonly trustedProxies: BlockList;
    readonly balances: BalanceService;
    readonly funds: FundsService;
    readonly usage: UsageService;
    readonly deposits: DepositsService;
    readonly holds: HoldsService;
    readonly registry: InferenceRegistry;
    readonly catalogue: CatalogueService;
    /** How providers fare, as this process sees it. */
    readonly health: HealthService;
    /** Lets requests in. */
    readonly admission: AdmissionService;
    /** Carries admitted requests to providers. */
    readonly exchanges: ExchangeService;
    /** Tells who would be asked. */
    readonly routing: RoutingService;
    readonly chat: ChatService;
    readonly messages: MessagesService;
    readonly images: ImagesService;
    readonly audio: AudioService;
    /** Dollars for one token of the network, where that is known now. */
    tokenUsd(): Usd | undefined;
    readonly requests: RequestsService;
    readonly evidence: EvidenceService;
    readonly jobs: JobsService;
    readonly imageJobs: ImageJobsService;
    readonly idempotency: IdempotencyService;
    readonly credentialWatch: CredentialWatch;
    /** Where every request comes in, on every face. */
    readonly door: DoorService;
    /** What this process counts; undefined without a METRICS_PORT. */
    readonly metrics: Metrics | undefined;
    /** Whether this process can serve, and which part of it cannot. */
    readiness(): Promise<Readiness>;
    /** Who sends this `Authorization` header. */
    authenticate(authorization: string | undefined): Promise<Principal>;
    /** Begins the work of this process: publishing events and reading providers; a worker also watches the chain. */
    start(role: { readonly worker: boolean }): Promise<void>;
    /** Waits for the requests under way to be billed, ends all work and lets go of every connection. */
    close(): Promise<void>;
  };

const HOLD_GRACE_SECONDS = 60;
const PROVIDER_TRIES = 3;
const DEPOSITS = "deposits";

/**
 * Builds every service by hand, in the order in which they need each other. It never listens. `open` opens the
 * database, where the configuration is not to say which.
 */
export async function createApp(
  config: Config,
  network: Network,
  log: Logger,
  open: () => Promise<Database> = () => openDatabase(databaseOf(config)),
): Promise<App> {
  const urls = config.RPC_URL ?? network.rpcUrls;
  const rpc = createRpc({ urls, network: config.NETWORK, chainId: network.chainId, log });
  await rpc.verifyChain().catch((error: Error) => {
    throw new StartupError(error.message, { cause: error });
  });
  const database = await open();
  try {
    const bus = config.REDIS_URL ? await RedisBus.create(config.REDIS_URL, { log }) : new MemoryBus();
    const redis = config.REDIS_URL ? await openCounters(config.REDIS_URL, log) : undefined;
    return wire({ config, network, log, rpc, database, bus, redis });
  } catch (error) {
    await database.close();
    throw error;
  }
}

function wire(given: {
  config: Config;
  network: Network;
  log: Logger;
  rpc: Rpc;
  database: Database;
  bus: Bus;
  redis: RedisConnection | undefined;
}): App {
  const { config, network, log, rpc, database, bus, redis } = given;
  const clock = systemClock;
  const relay = new EventRelay(database, bus, log);
  const committed = () => relay.nudge();
  const events = new EventsService(database, bus);
  const parts: Parts = { config, network, log, clock, rpc, database, bus, events, committed };
  const chainRoom = openChainRoom(parts);
  const storageRoom = openStorageRoom(parts, chainRoom);
  const authenticator = new AuthenticateService(database);
  const metrics = config.METRICS_PORT === undefined ? undefined : new Metrics();
  const holds = new HoldsService({ database, log, committed, observer: metrics });
  const registryAddress = addressOf(network, "computeInference");
  const registry = new InferenceRegistry(rpc.client, registryAddress);
  const wallet = privateKeyToAccount(config.ROUTER_PRIVATE_KEY ?? `0x${"0".repeat(63)}1`);
  const credentials = new CredentialsService({
    client: rpc.client,
    registry: registryAddress,
    wallet,
    clock,
  });
  const fromFile = config.PROVIDERS_FILE
    ? new FileProviders({ path: config.PROVIDERS_FILE, variable: readVariable })
    : undefined;
  const providers = new ProviderClient({
    credentials: {
      secretFor: async (provider) => fromFile?.keyOf(provider) ?? credentials.secretFor(provider),
      forget: (provider) => credentials.forget(provider),
    },
    deadlines: {
      connectMs: config.PROVIDER_CONNECT_MS,
      firstByteMs: config.PROVIDER_FIRST_BYTE_MS,
      silenceMs: config.PROVIDER_SILENCE_MS,
      totalMs: config.PROVIDER_TOTAL_MS,
    },
    connections: config.PROVIDER_CONNECTIONS,
    allowsPrivate: network.id === "devnet",
  });
  const health = new HealthService({ clock, coolDownMs: config.PROVIDER_COOL_DOWN_MS });
  const exchanges = new ExchangeService({
    providers,
    health,
    clock,
    log,
    tries: PROVIDER_TRIES,
    totalMs: config.PROVIDER_TOTAL_MS,
    firstTokenMs: config.PROVIDER_FIRST_TOKEN_MS,
    stallMs: config.CLIENT_STALL_MS,
    resumesStreams: config.RESUME_STREAMS === "on",
  });
  const tokenPrice = new TokenPriceService({ setting: config.TOKEN_USD, clock, log });
  const catalogue = new CatalogueService({
    source: fromFile
      ? joinedProviders([chainProviders(registry, { allowsPrivate: network.id === "devnet" }), fromFile], log)
      : chainProviders(registry, { allowsPrivate: network.id === "devnet" }),
    log,
    refreshMs: config.CATALOGUE_REFRESH_MS,
  });
  const apiKeys = new ApiKeyService({ database, clock, committed });
  const evidence = new EvidenceService({
    queries: database,
    providers,
    clock,
    log,
    timeoutMs: config.TEE_CHECK_MS,
    observe: (verdict) => metrics?.evidence(verdict),
  });
  const admission = new AdmissionService({
    catalogue,
    health,
    holds,
    reachOf: (keyId) => apiKeys.reachOf(keyId),
    tokenUsd: () => tokenPrice.current(),
    evidence,
    observer: metrics,
    clock,
    holdSeconds: Math.ceil(config.PROVIDER_TOTAL_MS / 1_000) + HOLD_GRACE_SECONDS,
  });
  const isDevnet = network.id === "devnet";
  const { services: chainServices, confirmations } = chainRoom;
  const { chain } = chainServices;
  const { chainId } = network;
  const balances = new BalanceService(database);
  const vaultAddress = config.VAULT_ADDRESS ?? addressOf(network, "routerVault");
  const vault = new VaultClient({ client: rpc.client, vault: vaultAddress, clock });
  const deposits = new DepositsService({
    queries: database,
    chainId,
    vault: {
      address: vaultAddress,
      event: config.VAULT_EVENT,
      accountArgument: config.VAULT_ACCOUNT_ARGUMENT,
      amountArgument: config.VAULT_AMOUNT_ARGUMENT,
    },
    confirmations,
    scannedBlock: async () => (await chain.watchers()).get(DEPOSITS)?.scannedBlock,
  });
  chainRoom.follow(DEPOSITS, deposits);
  const trusted = trustedProxies(config.TRUSTED_PROXIES ?? []);
  const keyUse = new KeyUseService({ database, clock, log, trusted });
  const sessions = new SessionService({
    database,
    clock,
    places: signInPlaces({ origins: config.SIGN_IN_ORIGINS, chainId, isDevnet }),
    verify: (signed) => verifyWalletSignature(rpc.client, signed),
  });
  const door = new DoorService({ authenticator, limits: rateLimits(config, redis), trusted });
  const sessionSweep = new SessionSweep(database, log);
  const idempotency = new IdempotencyService({
    queries: database,
    log,
    deadlineSeconds: Math.ceil(config.PROVIDER_TOTAL_MS / 1_000) + HOLD_GRACE_SECONDS,
  });
  const credentialWatch = new CredentialWatch({ queries: database, bus, log });
  const chat = new ChatService({
    admission,
    exchanges,
    maxCompletionTokens: config.MAX_COMPLETION_TOKENS,
  });
  const requests = new RequestsService(database);
  const jobs = new JobsService({ database, events });
  const imageJobRunner = new JobRunner({
    database,
    bus,
    clock,
    log,
    committed,
    kind: IMAGE_JOB,
    parallel: config.JOBS_PARALLEL,
    work: imageJobWork({
      client: new ImageJobClient({ providers, catalogue, health }),
      holds,
      catalogue,
      evidence,
      clock,
      observer: metrics,
      keptSeconds: config.JOB_RESULT_HOURS * 3_600,
    }),
  });
  const imageJobs = new ImageJobsService({
    database,
    admission,
    holds,
    jobs,
    requests,
    catalogue,
    evidence,
    submitted: () => imageJobRunner.nudge(),
    committed,
    deadlineSeconds: Math.ceil(config.JOB_TOTAL_MS / 1_000),
  });
  metrics?.sample({
    holdsOpen: () => holds.open(),
    relayLagSeconds: () => relay.lagSeconds(),
    eventStreamsOpen: () => events.openStreams,
    watcherLags: async () =>
      [...(await chain.watchers())].flatMap(([watcher, { lagBlocks }]) =>
        lagBlocks === undefined ? [] : [{ watcher, blocks: Number(lagBlocks) }],
      ),
    circuits: () =>
      catalogue
        .providers()
        .map((provider) => ({ provider: provider.address, state: health.of(provider).circuit })),
  });
  const resultSweep = new ResultSweep(database, log);
  const imageFiles =
    config.STORE_JOB_IMAGES === "on" && config.ROUTER_PRIVATE_KEY
      ? new ImageFilesRunner({
          queries: database,
          uploads: storageRoom.services.uploads,
          sender: new WalletSender({ client: rpc.client, chainId, privateKey: config.ROUTER_PRIVATE_KEY }),
          log,
        })
      : undefined;
  return {
    config,
    network,
    log,
    database,
    events,
    apiKeys,
    managementKeys: new ManagementKeyService({ database, clock, committed }),
    sessions,
    keyUse,
    trustedProxies: trusted,
    balances,
    funds: new FundsService({ balances, vault }),
    usage: new UsageService(database),
    deposits,
    holds,
    ...chainServices,
    registry,
    catalogue,
    health,
    admission,
    exchanges,
    routing: new RoutingService({ admission, catalogue, reachOf: (keyId) => apiKeys.reachOf(keyId) }),
    chat,
    messages: new MessagesService({
      admission,
      exchanges,
      providers,
      reachOf: (keyId) => apiKeys.reachOf(keyId),
    }),
    images: new ImagesService({ admission, exchanges }),
    audio: new AudioService({ admission, exchanges }),
    tokenUsd: () => tokenPrice.known(),
    requests,
    evidence,
    jobs,
    imageJobs,
    ...storageRoom.services,
    idempotency,
    credentialWatch,
    door,
    metrics,
    readiness: () =>
      readinessOf({
        database: { required: true, check: async () => void (await database.ping()) },
        events: { required: false, check: async () => void (await bus.newestPosition()) },
        providers: {
          required: false,
          check: async () => (catalogue.providers().length > 0 ? undefined : "none known"),
        },
        chain: { required: false, check: async () => chain.outage() },
      }),
    authenticate: (authorization) => authenticator.authenticate(authorization),
    async start({ worker }) {
      relay.start();
      await Promise.all([catalogue.start(), tokenPrice.start()]);
      if (!worker) return;
      holds.start();
      idempotency.start();
      sessionSweep.start();
      imageJobRunner.start();
      resultSweep.start();
      imageFiles?.start();
      chainRoom.work?.();
      storageRoom.work?.();
    },
    async close() {
      await Promise.all([exchanges.drain(), imageJobRunner.stop()]);
      holds.stop();
      await idempotency.stop();
      await credentialWatch.stop();
      await sessionSweep.stop();
      await resultSweep.stop();
      await imageFiles?.stop();
      catalogue.stop();
      tokenPrice.stop();
      await Promise.all([chainRoom.stop(), storageRoom.stop()]);
      await keyUse.drain();
      await relay.stop();
      await bus.close();
      if (redis) dropRedis(redis);
      await providers.close();
      await database.close();
    },
  };
}

/** Which database this configuration means. */
export function databaseOf(config: Config) {
  if (config.DATABASE_URL)
    return { kind: "server", url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE } as const;
  return { kind: "folder", path: config.DATA_DIR } as const;
}

/** The connection that requests are counted by. It may break and come back: counting goes on without it. */
async function openCounters(url: string, log: Logger): Promise<RedisConnection> {
  const redis = openRedis(url, (error) => log.debug({ err: error }, "requests are not counted in Redis now"));
  return redis.connect();
}

function rateLimits(config: Config, redis: RedisConnection | undefined): RateLimits {
  const limitOf = (name: string, limit: number): RateLimit | undefined => {
    if (limit === 0) return undefined;
    return redis ? new RedisRateLimit(redis, name, limit) : new MemoryRateLimit(limit);
  };
  return {
    perKey: limitOf("key", config.RATE_LIMIT_PER_KEY),
    perAddress: limitOf("address", config.RATE_LIMIT_PER_ADDRESS),
    failures: limitOf("failures", config.RATE_LIMIT_FAILURES),
  };
}
