import type { BlockList } from "node:net";
import type { AppContext, Lifecycle } from "../app-context.ts";
import { verifyWalletSignature } from "../chain/wallet-signature.ts";
import type { RedisConnection } from "../events/redis-connection.ts";
import { ApiKeyService } from "./api-keys/api-key.service.ts";
import { AuthenticateService } from "./auth/authenticate.service.ts";
import { CredentialWatch } from "./auth/credential-watch.service.ts";
import type { Principal } from "./auth/principal.ts";
import { MemoryRateLimit } from "./auth/rate-limit.memory.ts";
import { RedisRateLimit } from "./auth/rate-limit.redis.ts";
import type { RateLimit } from "./auth/rate-limit.ts";
import { type RateLimits, RequestAuthenticator } from "./auth/request-authenticator.ts";
import { trustedProxies } from "./auth/source-address.ts";
import { ManagementKeyService } from "./management-keys/management-key.service.ts";
import { SessionService } from "./sessions/session.service.ts";
import { SessionSweep } from "./sessions/session-sweep.runner.ts";
import { signInOrigins } from "./sessions/sign-in-origins.ts";
import { KeyUseService } from "./shared/key-use.service.ts";

/** The services of keys, authentication and sessions. */
export type KeyServices = {
  readonly apiKeys: ApiKeyService;
  readonly managementKeys: ManagementKeyService;
  readonly sessions: SessionService;
  /** Records which key was used, when and from which address. */
  readonly keyUse: KeyUseService;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: BlockList;
  readonly credentialWatch: CredentialWatch;
  /** Authenticates and rate-limits every request of every API. */
  readonly requestAuthenticator: RequestAuthenticator;
  /** The principal of an `Authorization` header. */
  authenticate(authorization: string | undefined): Promise<Principal>;
};

/** The services of keys and their background work. */
export type KeyModule = Lifecycle & { readonly services: KeyServices };

/** Creates the services of keys. Requests are counted in `redis` if given, else in this process. */
export function createKeyModule(parts: AppContext, redis: RedisConnection | undefined): KeyModule {
  const { config, network, log, clock, rpc, database, bus, committed } = parts;
  const trusted = trustedProxies(config.TRUSTED_PROXIES ?? []);
  const authenticator = new AuthenticateService(database);
  const keyUse = new KeyUseService({ database, clock, log, trusted });
  const credentialWatch = new CredentialWatch({ queries: database, bus, log });
  const sweep = new SessionSweep(database, log);
  const places = signInOrigins({
    origins: config.SIGN_IN_ORIGINS,
    chainId: network.chainId,
    isDevnet: network.id === "devnet",
  });
  return {
    services: {
      apiKeys: new ApiKeyService({ database, clock, committed }),
      managementKeys: new ManagementKeyService({ database, clock, committed }),
      sessions: new SessionService({
        database,
        clock,
        places,
        verify: (signed) => verifyWalletSignature(rpc.client, signed),
      }),
      keyUse,
      trustedProxies: trusted,
      credentialWatch,
      requestAuthenticator: new RequestAuthenticator({
        authenticator,
        limits: rateLimits(parts, redis),
        trusted,
      }),
      authenticate: (authorization) => authenticator.authenticate(authorization),
    },
    startWork: () => sweep.start(),
    async stop() {
      await credentialWatch.stop();
      await sweep.stop();
      await keyUse.drain();
    },
  };
}

function rateLimits({ config, clock }: AppContext, redis: RedisConnection | undefined): RateLimits {
  const limitOf = (name: string, limit: number): RateLimit | undefined => {
    if (limit === 0) return undefined;
    return redis ? new RedisRateLimit(redis, name, limit, { clock }) : new MemoryRateLimit(limit, clock);
  };
  return {
    perKey: limitOf("key", config.RATE_LIMIT_PER_KEY),
    perAddress: limitOf("address", config.RATE_LIMIT_PER_ADDRESS),
    failures: limitOf("failures", config.RATE_LIMIT_FAILURES),
  };
}
