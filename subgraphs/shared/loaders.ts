import DataLoader from "dataloader";
import type { Balance } from "../../src/accounts/balance.service.ts";
import type { App } from "../../src/app.ts";
import { agentWatcherName } from "../../src/chain/agents/contracts/agent-contracts.ts";
import type { SealedKey } from "../../src/chain/agents/sealed-keys/sealed-key.ts";
import type { AgentToken, Delegation, TokenKey } from "../../src/chain/agents/tokens/agent-tokens.service.ts";
import type { InferenceService } from "../../src/chain/direct/inference-registry.ts";
import type { Trace } from "../../src/inference/billing/trace.ts";
import type { Evidence } from "../../src/inference/evidence/tee-signature.ts";
import type { HealthPoint } from "../../src/inference/providers/health/health-history.service.ts";
import type { Provider } from "../../src/inference/providers/provider.ts";
import type { InferenceRequest } from "../../src/inference/requests/requests.service.ts";
import type { JobView } from "../../src/jobs/jobs.service.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { ApiKey } from "../../src/keys/api-keys/api-key.service.ts";
import { permit } from "../../src/keys/auth/permissions.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { SignedReceipt } from "../../src/receipts/receipts.service.ts";
import type { ChainFile } from "../../src/storage/files.service.ts";
import type { KvTransaction } from "../../src/storage/kv/kv.service.ts";
import type { SubmittedFile } from "../../src/storage/submissions/submissions.service.ts";
import type { WebhookAttempt } from "../../src/webhooks/webhook.ts";

/** Batched lookups: one service call finds many rows of a kind. */
export type Loaders = {
  readonly balances: DataLoader<string, Balance>;
  readonly apiKeys: DataLoader<string, ApiKey | undefined>;
  /** The last attempts of webhooks that were read with permission, newest first. */
  readonly webhookAttempts: DataLoader<string, readonly WebhookAttempt[]>;
  /**
   * Requests of the principal's account; undefined for another account's or an unknown id. Throws what `permit`
   * throws.
   */
  readonly requests: DataLoader<string, InferenceRequest | undefined>;
  /** Evidence of the principal's requests, by request id. */
  readonly evidence: DataLoader<string, Evidence | undefined>;
  /** Receipts of the principal's requests, by request id. */
  readonly receipts: DataLoader<string, SignedReceipt | undefined>;
  /** The bills of completed jobs of the principal's account. */
  readonly jobTraces: DataLoader<JobView, Trace | undefined>;
  /** Rows of the inference registry, by provider address in lower case. */
  readonly services: DataLoader<Hex, InferenceService | undefined>;
  /** The health of providers by day, and by hour. */
  readonly healthDays: DataLoader<Provider, readonly HealthPoint[]>;
  readonly healthHours: DataLoader<Provider, readonly HealthPoint[]>;
  /** The last 30 days of groups of providers, such as those of a model. */
  readonly recentHealth: DataLoader<readonly Provider[], HealthPoint | undefined>;
  readonly agentTokens: DataLoader<TokenKey, AgentToken | undefined>;
  /** The accounts that may use a token now. */
  readonly agentUsers: DataLoader<TokenKey, readonly Hex[]>;
  readonly agentDelegations: DataLoader<Hex, readonly Delegation[]>;
  /** The last scanned block of an agent token contract. */
  readonly agentScans: DataLoader<Hex, bigint | undefined>;
  readonly sealedKeys: DataLoader<string, SealedKey | undefined>;
  readonly files: DataLoader<Hex, SubmittedFile | undefined>;
  /** The same files as the storage nodes report them. */
  readonly nodeFiles: DataLoader<Hex, ChainFile | undefined>;
  /** Outcomes of transactions on key-value streams. */
  readonly kvTransactions: DataLoader<bigint, KvTransaction | undefined>;
};

/** New loaders for one principal. */
export function createLoaders(app: App, principal: Principal): Loaders {
  return {
    balances: batched((accounts) => app.balances.byAccounts(accounts)),
    apiKeys: batched((ids) => app.apiKeys.byIds(ids)),
    webhookAttempts: batched((ids) => app.webhooks.attemptsOf(ids)),
    requests: batched((ids) => app.requests.byIds(permit(principal, "request.read").account, ids)),
    evidence: batched((ids) => app.evidence.byRequests(permit(principal, "request.read").account, ids)),
    receipts: batched((ids) => app.receipts.byRequests(permit(principal, "request.read"), ids)),
    jobTraces: batched((jobs) => app.imageJobResults.traces(jobs)),
    services: batched((providers) => app.registry.byProviders(providers)),
    healthDays: batched((providers) => app.healthHistory.of(providers, "day")),
    healthHours: batched((providers) => app.healthHistory.of(providers, "hour")),
    recentHealth: batched((groups) => app.healthHistory.recent(groups)),
    files: batched((roots) => app.files.byRoots(roots)),
    agentTokens: batched((keys) => app.agentTokens.byKeys(keys)),
    agentUsers: batched((keys) => app.agentTokens.usersOf(keys)),
    agentDelegations: batched((users) => app.agentTokens.delegationsOf(users)),
    agentScans: batched(async (contracts) => {
      const watchers = await app.chain.watchers();
      return contracts.map((address) => watchers.get(agentWatcherName({ address }))?.scannedBlock);
    }),
    sealedKeys: batched((ids) => app.sealedKeys.byIds(ids)),
    kvTransactions: batched((txSeqs) => app.kv.transactions(txSeqs)),
    nodeFiles: batched((roots) => app.files.find(roots.map((root) => ({ root })))),
  };
}

const MAX_BATCH = 500;

/** Batches without a cache, so that a stream whose events share a context never emits stale data. */
function batched<K, V>(find: (keys: readonly K[]) => Promise<readonly V[]>): DataLoader<K, V> {
  return new DataLoader(find, { cache: false, maxBatchSize: MAX_BATCH });
}
